// Package forecast says when a job would start that is submitted where a record ends, and who would be preempted for it.
//
// How long what runs will run isn't known, nor what will be submitted next. So the cluster is played on many times from its state at the record's end, each time with
// other guesses, drawn from what the record has: how long a container runs that has run for so long already, from others of its application, or of such applications;
// what an application asks for next, from one of the same name, queue and user that has ended; what is submitted, from the record, begun at another place. The answers
// are the median of these plays, and the bounds of nine tenths of them.
package forecast
