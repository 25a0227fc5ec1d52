import { appendFileSync, readFileSync } from 'node:fs';

/** The part of vitest's JSON report that is counted here. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
  testResults: { name: string; assertionResults: { fullName: string; status: string }[] }[];
}

// count-tests.ts REPORT LEDGER: prints `passed failed skipped` of a report and notes in the ledger which tests ran and
// which were skipped. A report that is missing, or a file that did not load, is a failure.
const [reportPath = '', ledgerPath = ''] = process.argv.slice(2);
try {
  const report: Report = JSON.parse(readFileSync(reportPath, 'utf8'));
  const failed = report.success ? report.numFailedTests : Math.max(report.numFailedTests, 1);
  for (const file of report.testResults) {
    for (const test of file.assertionResults) {
      const ran = test.status === 'passed' || test.status === 'failed';
      appendFileSync(ledgerPath, `${ran ? 'ran' : 'skipped'}\t${file.name}  ${test.fullName}\n`);
    }
  }
  console.log(report.numPassedTests, failed, report.numPendingTests + report.numTodoTests);
} catch (error) {
  console.error(`no report of the tests in ${reportPath}:`, error instanceof Error ? error.message : error);
  console.log(0, 1, 0);
}
