// Runs in the browser as it stands, after React and GraphiQL, which define globals.
const { React, ReactDOM, GraphiQL } = globalThis;

// GraphiQL's dialogs add style elements, which the page's policy lets in by this.
globalThis.__webpack_nonce__ = document.currentScript.nonce;

const ADDRESS = { email: 'you@example.org', password: '' };
const OUTCOME = 'statusCode\n    message\n    errors { field code message }';

const EXAMPLES = [
  {
    query: `# Makes a user. A token to verify the address
# comes by mail; it goes into the next tab.
mutation SignUp($params: BasicAuthSignupInput!) {
  basicAuthSignUp(params: $params) {
    ${OUTCOME}
    user { id email emailVerified }
  }
}
`,
    variables: { params: ADDRESS },
  },
  {
    query: `# Verifies an address with the token of the mail.
mutation Verify($params: VerifySignupTokenInput!) {
  verifySignupToken(params: $params) {
    ${OUTCOME}
  }
}
`,
    variables: { params: { token: '' } },
  },
  {
    query: `# Opens a session. The access token that it answers
# goes into the headers of the next tab.
mutation LogIn($params: LoginInput!) {
  login(params: $params) {
    ${OUTCOME}
    accessToken
    refreshToken
    user { id email role }
  }
}
`,
    variables: { params: ADDRESS },
  },
  {
    query: `# The access token goes below, under Headers.
query Users {
  users {
    id
    email
    username
    role
    emailVerified
    createdAt
  }
}
`,
    headers: { Authorization: 'Bearer <accessToken>' },
  },
];

const json = (value) => (value === undefined ? undefined : JSON.stringify(value, null, 2));

async function ask(params, { headers } = {}) {
  const response = await fetch(location.pathname, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(params),
  });
  return response.json();
}

ReactDOM.createRoot(document.getElementById('graphiql')).render(
  React.createElement(GraphiQL, {
    fetcher: ask,
    defaultTabs: EXAMPLES.map(({ query, variables, headers }) => ({
      query,
      variables: json(variables),
      headers: json(headers),
    })),
    isHeadersEditorEnabled: true,
    defaultEditorToolsVisibility: true,
    // What is typed here has passwords in it, and does not outlive the browser's tab. Headers are not stored at all.
    storage: sessionStorage,
    shouldPersistHeaders: false,
  }),
);
