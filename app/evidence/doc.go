// Package evidence has the reports of evaluations and the gate that admits what they claim.
//
// A report claims up to three figures: recall with restoration, a speed-up, memory saved. [Check]
// compares each claim with the samples that the report lists. It returns a [Violation] for each
// rule that does not hold. [HeadlineOf] gives the admitted claims, and the reasons why others are
// withheld.
//
// A bench fills a [Run] with what it measured, and [Run.Report] derives the rest. Flags come from
// what executed: restoration was active if rows were restored, and a run was fused if blocks were
// verified. No rule reads the options under config.
//
// The gate finds claims that contradict their own rows. It can't tell who measured rows that are
// false throughout: whether a model ran, and whether its caches held what a row says. Only running
// the evaluation again shows that.
//
// # Schema
//
// A report is version 2 of the schema that Kakeya's evaluations on a Mac use, with its field names:
// the system under test is k3_cross_model, plain decoding is oracle. Tandem adds counts to each
// row: restored_rows, evicted_rows, kv_bits, looped_from. It adds measured bytes under memory, and
// those of each row under held. It adds per_sample_expected to the answers that are judged.
//
// In Tandem's reports a right answer has the expected text in it, see [Found]. The
// bytes under memory are those of a row, and full caches are those of the oracle's row after an
// equally long prompt. Reports of others need neither: they do not say how they judge and hold.
//
// Kinds that begin with "tandem_" must have these counts. A report of another kind may lack them:
// its own flags then count, and the headline says so. Where a count is given, it overrules the
// flag. A report of unknown kind is judged by its sections.
//
// A speed-up is tokens by the seconds of all stages, summed over the rows of an arm. Decoding alone
// is the median of tokens by decode_s. In Tandem's rows decode_s begins with the first token, so
// that one is not counted.
//
// Both arms are compared where their rows have equal sample numbers and equal prompt_tokens. A
// row's e2e_s is the sum of its stages, and wall_seconds that of the rows.
//
// # Rules
//
//	LEGACY_SCHEMA                the report is older than version 2
//	MISSING_STAGE_TIMINGS        an arm has no row per sample, or speed without times in each row
//	MISSING_RESTORATION_FLAG     a row does not say whether it restored, or contradicts its count
//	MIXED_RESTORATION_PATHS      some samples ran as the label says and some did not, or restored
//	                             fewer rows than their layers gave up
//	BASELINE_AS_SUT              nothing was restored, and the label does not say so
//	BASELINE_RECALL_CLAIM        a baseline claims recall for restoration
//	RECALL_SCOPE                 recall is claimed beyond the samples, or of what did not run, or
//	                             against their texts, or compared with that on other prompts
//	FUSED_NEVER_RAN              a fused run verified no block
//	SPEEDUP_SELF_COMPARISON      both arms ran the same, in half of the samples at least
//	SPEEDUP_SAMPLES              an arm has fewer than 5 samples
//	SPEEDUP_DECODE_TOKENS        an arm's median answer is shorter than 32 tokens
//	SPEEDUP_DECODE_ONLY_MISSING  the medians of decoding alone are missing, or not those of the rows
//	SPEEDUP_SCOPE_MISMATCH       the arms' prompts or times cover different things, rows give
//	                             another, or decoding alone is claimed without the whole
//	SPEEDUP_ORACLE_LOOP          the oracle's loop is not a fast and plain one
//	SPEEDUP_PREFILL_VARIANCE     an arm's longest prefill took over 3 times its shortest
//	MEMORY_CLAIM_MISMATCH        bytes contradict each other or the rows, or the saving is not that
//	                             of the bytes
//
// Of a chat with speculation:
//
//	MISSING_LIVENESS             a turn does not say what ran
//	PROPOSER_NEVER_RAN           no turn verified a block
//	FTHETA_NOT_RUN               a turn skipped the restoration that was intended
//	SILENT_FALLBACK              a part fell back to another
//	OUTPUT_DEGENERATE            a text ends in a loop
//
// The last one also stands against a speed-up: of an answer that loops, or of one of Tandem's whose
// text or looped_from is missing. A longer unit makes a loop there, as drafts guess it too.
//
// An answer longer than the window breaks no rule: tokens past it prove no loss by themselves.
package evidence
