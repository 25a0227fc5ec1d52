export interface AnnouncementFacts {
  readonly host: string;
  readonly port: number;
  readonly opsHost: string;
  readonly opsPort: number;
  readonly admin:
    | { readonly email: string; readonly password: string; readonly passwordFile: string }
    | { readonly email: string }
    | undefined;
  readonly dataFolder: string;
  /** In a terminal the password is shown; elsewhere (a log file, a journal) only where it is. */
  readonly terminal: boolean;
}

/** What is printed when everything is ready. The first line is the one that programs wait for. */
export function announcement(facts: AnnouncementFacts): string {
  const lines = [`Stowage is ready at http://${facts.host}:${facts.port}`];
  const { admin } = facts;
  if (admin !== undefined && 'passwordFile' in admin) {
    const secret = facts.terminal ? `password ${admin.password}` : `password in ${admin.passwordFile}`;
    lines.push(`  administrator    ${admin.email}, ${secret}`);
  } else if (admin !== undefined) {
    lines.push(`  administrator    ${admin.email}, password as in ADMIN_PASSWORD`);
  }
  lines.push(`  queue dashboard  http://${facts.opsHost}:${facts.opsPort}/queues`);
  lines.push(`  data             ${facts.dataFolder}`);
  return `${lines.join('\n')}\n`;
}
