package queue

import "heddle/conf"

// Invalid says why a configuration can't be used.
type Invalid struct {
	Problems []conf.Problem
	// Words is Hadoop's wording of the first problem, "" where it says less than the problem itself.
	Words string
}

func (e *Invalid) Error() string { return conf.Report{Problems: e.Problems}.Err().Error() }

// Unwrap returns all problems.
func (e *Invalid) Unwrap() []error { return []error{conf.Report{Problems: e.Problems}.Err()} }

// Brief returns the message for the client that made the change: Hadoop's wording if there is one.
func (e *Invalid) Brief() string {
	if e.Words != "" {
		return e.Words
	}
	return e.Error()
}
