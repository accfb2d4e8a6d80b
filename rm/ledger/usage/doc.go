// Package usage is the part of the ledger that records how much of the cluster was used, guaranteed, waited for and suspended over time: in all, by queue and by
// user. The leader samples these figures, and puts what has changed into the log; each member keeps the same history of it. It is pure.
//
// Fine steps of 10 s are kept for a day. Coarse ones of 15 min hold the sums of their samples, and are kept for 30 days. A series costs nothing while it doesn't
// change. All series together have MaxBytes at most: beyond that the fine history gets shorter, and then the coarse one.
package usage
