import { chmod, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { answers, freePort, type StartedProgram, startProgram } from './started-program.ts';

/** nginx with one worker process that serves `folder/root`, with sendfile and a log as Debian configures it. */
export async function startNginx(command: string, folder: string): Promise<StartedProgram & { url: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const file = join(folder, 'nginx.conf');
  await writeFile(join(folder, 'root', 'ready'), 'yes');
  await chmod(folder, 0o700);
  await writeFile(
    file,
    `${process.getuid?.() === 0 ? `user ${userInfo().username};` : ''}
     daemon off; worker_processes 1; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')};
     events { worker_connections 768; }
     http {
       types { image/jpeg jpg; } sendfile on; tcp_nopush on; keepalive_requests 1000000;
       access_log ${join(folder, 'access.log')};
       client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
       uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
       server { listen 127.0.0.1:${port}; root ${join(folder, 'root')}; }
     }`,
  );
  const program = await startProgram({
    command,
    args: ['-e', join(folder, 'error.log'), '-c', file],
    logFile: join(folder, 'log.txt'),
    isReady: () => answers(`${url}/ready`),
  });
  return { ...program, url };
}
