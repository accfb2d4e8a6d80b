package queue

import "heddle/conf"

// Invalid says why a configuration can't be used.
type Invalid struct {
	Problems []conf.Problem
	// Words is Hadoop's wording of the first problem, "" where it says less than the problem itself.
	Words string
}

func (e *Invalid) Error() string { return joined(e.Problems).Error() }

// Unwrap returns all problems.
func (e *Invalid) Unwrap() []error { return []error{joined(e.Problems)} }

// Brief is the message for the client that made the change: Hadoop's wording if there is one.
func (e *Invalid) Brief() string {
	if e.Words != "" {
		return e.Words
	}
	return e.Error()
}

// joined joins the errors among problems.
func joined(problems []conf.Problem) error {
	return conf.Report{Problems: problems}.Err()
}
