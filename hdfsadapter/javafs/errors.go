package javafs

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"syscall"

	"heddle/hdfsadapter/jvm"
)

// Exceptions maps exceptions of NameNodes and of Hadoop's file systems to Go's errors.
var Exceptions = map[string]error{
	"java.io.FileNotFoundException":                                                  fs.ErrNotExist,
	"org.apache.hadoop.security.AccessControlException":                              fs.ErrPermission,
	"org.apache.hadoop.security.authorize.AuthorizationException":                    fs.ErrPermission,
	"org.apache.hadoop.fs.FileAlreadyExistsException":                                fs.ErrExist,
	"org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException":                   fs.ErrExist,
	"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":                          syscall.ENOTEMPTY,
	"org.apache.hadoop.fs.PathIsNotDirectoryException":                               syscall.ENOTDIR,
	"org.apache.hadoop.fs.ParentNotDirectoryException":                               syscall.ENOTDIR,
	"org.apache.hadoop.fs.InvalidPathException":                                      fs.ErrInvalid,
	"org.apache.hadoop.HadoopIllegalArgumentException":                               fs.ErrInvalid,
	"org.apache.hadoop.hdfs.protocol.NSQuotaExceededException":                       syscall.EDQUOT,
	"org.apache.hadoop.hdfs.protocol.DSQuotaExceededException":                       syscall.EDQUOT,
	"org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException":            syscall.EDQUOT,
	"org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException":                   fs.ErrClosed,
	"org.apache.hadoop.hdfs.protocol.SnapshotAccessControlException":                 fs.ErrPermission,
	"org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException": syscall.ENAMETOOLONG,
	"java.nio.file.AccessDeniedException":                                            fs.ErrPermission,
	"java.nio.file.FileAlreadyExistsException":                                       fs.ErrExist,
	"java.nio.file.NoSuchFileException":                                              fs.ErrNotExist,
	"java.nio.file.NotDirectoryException":                                            syscall.ENOTDIR,
	"org.apache.hadoop.fs.PathIsDirectoryException":                                  syscall.EISDIR,
	"org.apache.hadoop.fs.PathExistsException":                                       fs.ErrExist,
	"org.apache.hadoop.fs.PathAccessDeniedException":                                 fs.ErrPermission,
	"org.apache.hadoop.fs.PathPermissionException":                                   fs.ErrPermission,
	"java.lang.UnsupportedOperationException":                                        errors.ErrUnsupported,
}

var unknownScheme = regexp.MustCompile(`^org\.apache\.hadoop\.fs\.UnsupportedFileSystemException: No FileSystem for scheme "([^"]{1,64})"`)

// failure makes exceptions match the errors of Go, and says how to mend what lacks.
func failure(err error) error {
	var refused *jvm.Refused
	if !errors.As(err, &refused) {
		return err
	}
	text := refused.Text
	class, _, _ := strings.Cut(text, ":")
	is, known := Exceptions[class]
	switch {
	case strings.Contains(text, "Path is not a file"), strings.Contains(text, "as a directory"):
		is, known = syscall.EISDIR, true
	case !known && strings.Contains(text, "not empty"):
		is, known = syscall.ENOTEMPTY, true
	case known:
	case strings.Contains(text, "ClassNotFoundException"), strings.Contains(text, "NoClassDefFoundError"):
		return fmt.Errorf("%w: name its jar in heddle.nodemanager.java.class-path or HADOOP_CLASSPATH", err)
	}
	if known {
		return &exception{is, refused}
	}
	if m := unknownScheme.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%w: set fs.%s.impl to a class, and name its jar in heddle.nodemanager.java.class-path or HADOOP_CLASSPATH", err, m[1])
	}
	return err
}

// exception is one that also matches one of Go's errors.
type exception struct {
	is  error
	err *jvm.Refused
}

func (e *exception) Error() string   { return e.is.Error() + ": " + e.err.Text }
func (e *exception) Unwrap() []error { return []error{e.is, e.err} }
