import type { Remedy } from './remedy.ts';

/** What Stowage promises, in the order of the architecture. */
export const INVARIANTS = ['I1', 'I2', 'I3', 'I4', 'I5'] as const;
export type Invariant = (typeof INVARIANTS)[number];

/** One thing that is not as it is promised. */
export interface Violation {
  readonly invariant: Invariant;
  /** What it is about, such as `file 0197…` or an object's key. */
  readonly subject: string;
  readonly fault: string;
  /** What `--repair` may do about it; without one it is for people. */
  readonly remedy?: Remedy;
}

/** What was found about one invariant. */
export interface Finding {
  /** Things that were looked at. */
  checked: number;
  violations: number;
  repaired: number;
  /** The first violations, in words. */
  readonly examples: string[];
}

export type Findings = Readonly<Record<Invariant, Finding>>;

const MOST_EXAMPLES = 5;

/** Gathers findings in bounded memory: all are counted, a few are kept as examples. */
export class FindingsBook {
  readonly findings: Findings = {
    I1: emptyFinding(),
    I2: emptyFinding(),
    I3: emptyFinding(),
    I4: emptyFinding(),
    I5: emptyFinding(),
  };

  checked(invariant: Invariant, count: number): void {
    this.findings[invariant].checked += count;
  }

  violated({ invariant, subject, fault }: Violation): void {
    const finding = this.findings[invariant];
    finding.violations += 1;
    if (finding.examples.length < MOST_EXAMPLES) finding.examples.push(`${subject}: ${fault}`);
  }

  /** Violations that were counted and not looked at one by one. */
  violatedBeyond(invariant: Invariant, count: number): void {
    this.findings[invariant].violations += count;
  }

  repaired(invariant: Invariant): void {
    this.findings[invariant].repaired += 1;
  }
}

function emptyFinding(): Finding {
  return { checked: 0, violations: 0, repaired: 0, examples: [] };
}

export function countViolations(findings: Findings): number {
  return INVARIANTS.reduce((sum, invariant) => sum + findings[invariant].violations, 0);
}

export function countUnrepaired(findings: Findings): number {
  return INVARIANTS.reduce(
    (sum, invariant) => sum + findings[invariant].violations - findings[invariant].repaired,
    0,
  );
}
