// Runs in the browser as it stands: no build step, no dependency.
const byId = (id) => document.getElementById(id);

const EXAMPLES = {
  login:
    'mutation Login($params: LoginInput!) {\n  login(params: $params) {\n    statusCode\n    message\n    accessToken\n    refreshToken\n    user { id email role }\n  }\n}',
  variables: { params: { email: 'you@example.org', password: '' } },
};

const INTROSPECTION = `{
  __schema {
    queryType { name } mutationType { name }
    types {
      name kind description
      fields { name description type { ...T } args { name type { ...T } } }
      inputFields { name description type { ...T } }
      enumValues { name description }
    }
  }
}
fragment T on __Type { name kind ofType { name kind ofType { name kind ofType { name kind } } } }`;

async function send(body) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const token = byId('token').value.trim();
  if (token) headers.authorization = `Bearer ${token}`;
  const response = await fetch(location.pathname, { method: 'POST', headers, body: JSON.stringify(body) });
  return response.json();
}

async function run() {
  const result = byId('result');
  try {
    const variables = JSON.parse(byId('variables').value || '{}');
    const answer = await send({ query: byId('query').value, variables });
    result.textContent = JSON.stringify(answer, null, 2);
    for (const field of Object.values(answer.data ?? {}))
      if (field?.accessToken) byId('token').value = field.accessToken;
  } catch (error) {
    result.textContent = String(error);
  }
}

const typeName = (type) =>
  type.kind === 'NON_NULL'
    ? `${typeName(type.ofType)}!`
    : type.kind === 'LIST'
      ? `[${typeName(type.ofType)}]`
      : type.name;

function element(tag, text, onclick) {
  const node = document.createElement(tag);
  node.textContent = text;
  if (onclick) node.onclick = onclick;
  return node;
}

/** Types by clicking from one to the next. */
function showType(types, name) {
  const type = types.get(name);
  const lines = [...(type.fields ?? []), ...(type.inputFields ?? []), ...(type.enumValues ?? [])];
  const nodes = [element('strong', `${type.kind.toLowerCase().replace('_', ' ')} ${type.name}\n`)];
  if (type.description) nodes.push(element('p', type.description));
  for (const line of lines) {
    nodes.push(document.createTextNode(line.name));
    const link = (of) => {
      const target = typeName(of).replace(/[[\]!]/g, '');
      return types.get(target)?.kind === 'SCALAR'
        ? document.createTextNode(typeName(of))
        : element('button', typeName(of), () => showType(types, target));
    };
    for (const arg of line.args ?? [])
      nodes.push(document.createTextNode(`(${arg.name}: `), link(arg.type), document.createTextNode(')'));
    if (line.type) nodes.push(document.createTextNode(': '), link(line.type));
    nodes.push(element('p', line.description ?? ''));
  }
  const home = [...types.keys()].filter((each) => ['Query', 'Mutation'].includes(each));
  byId('schema').replaceChildren(
    ...home.flatMap((each) => [
      element('button', each, () => showType(types, each)),
      document.createTextNode(' '),
    ]),
    document.createTextNode('\n\n'),
    ...nodes,
  );
}

byId('query').value = EXAMPLES.login;
byId('variables').value = JSON.stringify(EXAMPLES.variables, null, 2);
byId('run').onclick = run;
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void run();
});
const { data } = await send({ query: INTROSPECTION });
if (data) showType(new Map(data.__schema.types.map((type) => [type.name, type])), 'Mutation');
