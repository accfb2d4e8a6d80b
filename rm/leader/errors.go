package leader

import (
	"errors"
	"fmt"

	"heddle/rm/leader/pipeline"
)

// ErrDeposed is returned when leadership ended before the operation was committed. The next leader decides whether it took effect.
var ErrDeposed = pipeline.ErrDeposed

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
)

// Error is a refusal; its text is for whoever asked.
type Error struct {
	Reason Reason
	Text   string
}

func (e *Error) Error() string { return e.Text }

func refuse(r Reason, format string, args ...any) error {
	return &Error{Reason: r, Text: fmt.Sprintf(format, args...)}
}

// IsReason reports whether err is a refusal for that reason.
func IsReason(err error, r Reason) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == r
}
