package rest

import (
	"fmt"
	"net/http"
	"strings"
)

// Error is a refusal in the form of YARN's RemoteException.
type Error struct {
	Status  int
	Class   string // the Java class of the exception
	Message string // omitted if empty
}

func (e *Error) Error() string { return e.Message }

type remoteException struct {
	Exception string `yarn:"exception"`
	Message   string `yarn:"message,omitempty"`
	ClassName string `yarn:"javaClassName"`
}

// Document returns the body of the answer.
func (e *Error) Document() Document {
	short := e.Class[strings.LastIndexByte(e.Class, '.')+1:]
	short = short[strings.LastIndexByte(short, '$')+1:]
	return Document{"RemoteException", Natural, remoteException{short, e.Message, e.Class}}
}

const webapp = "org.apache.hadoop.yarn.webapp."

// Names of the Java exceptions that clients meet.
const (
	BadRequestException      = webapp + "BadRequestException"
	NotFoundException        = webapp + "NotFoundException"
	ForbiddenException       = webapp + "ForbiddenException"
	IllegalArgument          = "java.lang.IllegalArgumentException"
	NumberFormatException    = "java.lang.NumberFormatException"
	IOException              = "java.io.IOException"
	WebApplicationException  = "javax.ws.rs.WebApplicationException"
	AuthorizationException   = "org.apache.hadoop.security.authorize.AuthorizationException"
	RetriableException       = "org.apache.hadoop.ipc.RetriableException"
	AuthenticationException  = "org.apache.hadoop.security.authentication.client.AuthenticationException"
	UnsupportedOperation     = "java.lang.UnsupportedOperationException"
	YarnRuntimeException     = "org.apache.hadoop.yarn.exceptions.YarnRuntimeException"
	YarnException            = "org.apache.hadoop.yarn.exceptions.YarnException"
	UndeclaredThrowable      = "java.lang.reflect.UndeclaredThrowableException"
	ApplicationNotFound      = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	ApplicationAttemptAbsent = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	ContainerNotFound        = "org.apache.hadoop.yarn.exceptions.ContainerNotFoundException"
)

// BadRequest returns a 400. Like YARN it wraps the reason in a java.lang.Exception.
func BadRequest(format string, args ...any) error {
	return &Error{http.StatusBadRequest, BadRequestException, "java.lang.Exception: " + fmt.Sprintf(format, args...)}
}

// BadRequestBy returns a 400 for an exception of another class.
func BadRequestBy(class, format string, args ...any) error {
	return &Error{http.StatusBadRequest, BadRequestException, class + ": " + fmt.Sprintf(format, args...)}
}

// Illegal returns a 400 with a bare IllegalArgumentException.
func Illegal(format string, args ...any) error {
	return &Error{http.StatusBadRequest, IllegalArgument, fmt.Sprintf(format, args...)}
}

// NotFound returns a 404.
func NotFound(format string, args ...any) error {
	return &Error{http.StatusNotFound, NotFoundException, "java.lang.Exception: " + fmt.Sprintf(format, args...)}
}

// NotFoundBy returns a 404 for an exception of another class.
func NotFoundBy(class, format string, args ...any) error {
	return &Error{http.StatusNotFound, NotFoundException, class + ": " + fmt.Sprintf(format, args...)}
}

// Forbidden returns a 403.
func Forbidden(format string, args ...any) error {
	return &Error{http.StatusForbidden, ForbiddenException, "java.lang.Exception: " + fmt.Sprintf(format, args...)}
}

// Unauthorized returns a 401 for a known user who isn't admitted.
func Unauthorized(format string, args ...any) error {
	return &Error{http.StatusUnauthorized, AuthorizationException, fmt.Sprintf(format, args...)}
}

// Retriable returns a 503 for what may succeed later.
func Retriable(format string, args ...any) error {
	return &Error{http.StatusServiceUnavailable, RetriableException, fmt.Sprintf(format, args...)}
}

// badBody returns a 400 for a body that can't be read.
func badBody(format string, args ...any) error {
	return &Error{http.StatusBadRequest, WebApplicationException, fmt.Sprintf(format, args...)}
}
