// Package refusal holds the errors with which a leader refuses what clients, ApplicationMasters and nodes ask. Packages below rm/leader
// make them with New. rm/service and rm/rest turn the reason into the exception that Hadoop has for it.
package refusal

import (
	"errors"
	"fmt"
)

// Reason says why something was refused.
type Reason uint8

// Reasons, with the exception that Hadoop has for each.
const (
	NoSuchApplication Reason = iota // ApplicationNotFoundException
	NoSuchAttempt                   // ApplicationAttemptNotFoundException
	NoSuchContainer                 // ContainerNotFoundException
	NotRegistered                   // ApplicationMasterNotRegisteredException
	InvalidAMRequest                // InvalidApplicationMasterRequestException
	InvalidResource                 // InvalidResourceRequestException
	InvalidLabel                    // InvalidLabelResourceRequestException
	InvalidBlacklist                // InvalidResourceBlacklistRequestException
	InvalidRelease                  // InvalidContainerReleaseException
	NoApplicationID                 // ApplicationIdNotProvidedException
	Refused                         // YarnException
	AccessDenied                    // AccessControlException
	InvalidTag                      // YarnException around an IllegalArgumentException
	NoSuchToken                     // SecretManager.InvalidToken
	NoSpace                         // RetriableException: the same may succeed later
)

// Error is a refusal. Its text is for the caller, and names what is wrong.
type Error struct {
	Reason Reason
	Text   string
}

func (e *Error) Error() string { return e.Text }

// New makes a refusal with a text that fmt.Sprintf formats.
func New(r Reason, format string, args ...any) error {
	return &Error{Reason: r, Text: fmt.Sprintf(format, args...)}
}

// Is reports whether err is, or wraps, a refusal for that reason.
func Is(err error, r Reason) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == r
}
