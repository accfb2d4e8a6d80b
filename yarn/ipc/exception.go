package ipc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"regexp"
	"strings"
	"syscall"

	"heddle/yarn/pb"
)

// Java classes that Hadoop's clients react to. A client builds the exception from class and text, so the class must
// exist in its libraries and have a constructor that takes a String. These do.
const (
	IOException              = "java.io.IOException"
	FileNotFoundException    = "java.io.FileNotFoundException"
	IllegalArgumentException = "java.lang.IllegalArgumentException"
	IllegalStateException    = "java.lang.IllegalStateException"
	UnsupportedOperation     = "java.lang.UnsupportedOperationException"
	SaslException            = "javax.security.sasl.SaslException"

	AccessControlException   = "org.apache.hadoop.security.AccessControlException"
	AuthorizationException   = "org.apache.hadoop.security.authorize.AuthorizationException"
	InvalidToken             = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	HealthCheckFailed        = "org.apache.hadoop.ha.HealthCheckFailedException"
	ServiceFailed            = "org.apache.hadoop.ha.ServiceFailedException"
	IpcException             = "org.apache.hadoop.ipc.IpcException"
	RetriableException       = "org.apache.hadoop.ipc.RetriableException"
	RpcServerException       = "org.apache.hadoop.ipc.RpcServerException"
	RpcNoSuchMethod          = "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	RpcNoSuchProtocol        = "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
	StandbyException         = "org.apache.hadoop.ipc.StandbyException"
	VersionMismatch          = "org.apache.hadoop.ipc.RPC$VersionMismatch"
	InvalidProtocolBuffer    = "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException"
	UninitializedMessage     = "org.apache.hadoop.thirdparty.protobuf.UninitializedMessageException"
	YarnException            = yarnExceptions + "YarnException"
	YarnRuntimeException     = yarnExceptions + "YarnRuntimeException"
	ApplicationNotFound      = yarnExceptions + "ApplicationNotFoundException"
	AttemptNotFound          = yarnExceptions + "ApplicationAttemptNotFoundException"
	ContainerNotFound        = yarnExceptions + "ContainerNotFoundException"
	ApplicationIDNotProvided = yarnExceptions + "ApplicationIdNotProvidedException"
	MasterNotRegistered      = yarnExceptions + "ApplicationMasterNotRegisteredException"
	InvalidMasterRequest     = yarnExceptions + "InvalidApplicationMasterRequestException"
	InvalidResourceRequest   = yarnExceptions + "InvalidResourceRequestException"
	InvalidLabelRequest      = yarnExceptions + "InvalidLabelResourceRequestException"
	InvalidBlacklistRequest  = yarnExceptions + "InvalidResourceBlacklistRequestException"
	InvalidContainerRelease  = yarnExceptions + "InvalidContainerReleaseException"
	InvalidContainer         = yarnExceptions + "InvalidContainerException"
	InvalidAuxService        = yarnExceptions + "InvalidAuxServiceException"
	NMNotYetReady            = yarnExceptions + "NMNotYetReadyException"
	ResourceNotFound         = yarnExceptions + "ResourceNotFoundException"
	ProfilesNotEnabled       = yarnExceptions + "ResourceProfilesNotEnabledException"
	FeatureNotEnabled        = yarnExceptions + "YARNFeatureNotEnabledException"
	ApplicationNotRunning    = yarnExceptions + "ApplicationNotRunningException"
	ConfigurationProvider    = yarnExceptions + "ConfigurationProviderException"
)

const yarnExceptions = "org.apache.hadoop.yarn.exceptions."

// Exception is the error by which a handler chooses the Java exception that the caller gets.
type Exception struct {
	Class string // fully qualified, one of the constants above
	Text  string // the result of getMessage(); users see its first line
}

// NewException returns an Exception of the class, with a formatted text.
func NewException(class, format string, args ...any) *Exception {
	return &Exception{Class: class, Text: fmt.Sprintf(format, args...)}
}

// Error returns the text without the class, so that an Exception reads well inside of another error.
func (e *Exception) Error() string { return e.Text }

// RemoteError is a failure that the peer reported.
type RemoteError struct {
	Class  string
	Text   string // may have more lines: a Java stack trace
	Detail pb.RpcResponseHeader_RpcErrorCode
	Fatal  bool // the peer closed the connection with it
	Addr   string
	Method string // empty if the connection failed before a call was made
}

func (e *RemoteError) Error() string {
	first, _, _ := cutLine(e.Text)
	if e.Method == "" {
		return fmt.Sprintf("%s refuses the connection: %s: %s", e.Addr, e.Class, first)
	}
	return fmt.Sprintf("%s of %s: %s: %s", e.Method, e.Addr, e.Class, first)
}

// Message returns the first line of the text.
func (e *RemoteError) Message() string {
	first, _, _ := cutLine(e.Text)
	return first
}

func cutLine(s string) (first, rest string, more bool) {
	for i := range len(s) {
		if s[i] == '\n' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// IsClass reports whether err is, or wraps, a RemoteError or Exception of the Java class.
func IsClass(err error, class string) bool { return Class(err) == class && class != "" }

// Class returns the Java class of the RemoteError or Exception that err is or wraps. Without one it returns "".
func Class(err error) string {
	if r := (*RemoteError)(nil); errors.As(err, &r) {
		return r.Class
	}
	if e := (*Exception)(nil); errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// failure is the wire form of a failed call or connection.
type failure struct {
	class, text string
	detail      pb.RpcResponseHeader_RpcErrorCode
	fatal       bool
}

func (f *failure) Error() string { return f.class + ": " + f.text }

// failureOf returns the wire form of a handler's error. An Exception anywhere in the chain gives its class; the text is
// that of the whole chain.
func failureOf(err error) *failure {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	f := &failure{class: YarnException, text: err.Error(), detail: pb.RpcResponseHeader_ERROR_APPLICATION}
	if e := (*Exception)(nil); errors.As(err, &e) {
		if f.class = e.Class; f.class == "" {
			f.class = YarnException
		}
		f.text = withCause(f.class, f.text)
		return f
	}
	if p := parseError(""); errors.As(err, &p) {
		f.class = InvalidProtocolBuffer
		return f
	}
	var (
		path  *fs.PathError
		errno syscall.Errno
		nerr  net.Error
	)
	if errors.As(err, &path) || errors.As(err, &errno) || errors.As(err, &nerr) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		f.class = IOException
	}
	return f
}

// wrapped is the text of a Java exception within another one: its class and its message.
var wrapped = regexp.MustCompile(`^([a-z]\w*\.)+[A-Z][\w$]*: `)

// withCause adds the cause of a YarnException that wraps another exception, as RPCUtil.getRemoteException does: clients of Hadoop print it, and logs are searched for it.
// The lines of Java's stack between them are left out.
func withCause(class, text string) string {
	if class != YarnException || !wrapped.MatchString(text) || strings.Contains(text, "\nCaused by: ") {
		return text
	}
	return text + "\nCaused by: " + text + "\n"
}

// fatalHeader returns the failure for an invalid packet. The connection ends.
func fatalHeader(class, format string, args ...any) *failure {
	return &failure{class, fmt.Sprintf(format, args...), pb.RpcResponseHeader_FATAL_INVALID_RPC_HEADER, true}
}

// fatalAuth returns the failure of authentication or authorization. The connection ends.
func fatalAuth(class, format string, args ...any) *failure {
	return &failure{class, fmt.Sprintf(format, args...), pb.RpcResponseHeader_FATAL_UNAUTHORIZED, true}
}

// fatalDecode returns the failure for a header that can't be decoded. The connection ends.
func fatalDecode(message string, err error) *failure {
	return &failure{
		RpcServerException, "Error decoding " + message + ": " + InvalidProtocolBuffer + ": " + err.Error(),
		pb.RpcResponseHeader_FATAL_DESERIALIZING_REQUEST, true,
	}
}
