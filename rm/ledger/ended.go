package ledger

// maxAttempts is how many attempts an application keeps. One that may fail again and again can have any number.
const maxAttempts = 100

// forgetAttempts drops attempts of an application that has too many: first the oldest excused ones, whose failures count no more. If
// the application's failures are forgiven after a while, it drops the oldest of all. Other applications have few attempts.
func (a *Application) forgetAttempts() {
	for len(a.Attempts) > max(maxAttempts, int(a.MaxAttempts)) {
		i := a.forgettable()
		if i < 0 {
			return
		}
		a.Attempts = append(a.Attempts[:i:i], a.Attempts[i+1:]...)
	}
}

func (a *Application) forgettable() int {
	last := len(a.Attempts) - 1
	for i, t := range a.Attempts[:last] {
		if t.Excused {
			return i
		}
	}
	if a.Context.GetAttemptFailuresValidityInterval() > 0 {
		return 0
	}
	return -1
}
