import { readFileSync } from 'node:fs';

/** The part of vitest's JSON report that is counted here. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
  testResults: { name: string; assertionResults: { fullName: string; status: string }[] }[];
}

// Prints `passed failed skipped` of a report; a report that is missing, or a file that did not load, is a failure.
const path = process.argv[2] ?? '';
try {
  const report: Report = JSON.parse(readFileSync(path, 'utf8'));
  const failed = report.success ? report.numFailedTests : Math.max(report.numFailedTests, 1);
  for (const file of report.testResults) {
    for (const test of file.assertionResults) {
      if (test.status !== 'passed' && test.status !== 'failed') {
        console.error(`SKIPPED  ${file.name}  ${test.fullName}`);
      }
    }
  }
  console.log(report.numPassedTests, failed, report.numPendingTests + report.numTodoTests);
} catch (error) {
  console.error(`no report of the tests in ${path}:`, error instanceof Error ? error.message : error);
  console.log(0, 1, 0);
}
