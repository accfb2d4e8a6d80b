// Package secret reads the secret that the daemons of one cluster share, and derives keys from it.
//
// One file holds the secret (heddle.cluster.secret-file). Each use derives its own key, so that one protocol reveals nothing
// about another's key.
package secret

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"heddle/internal/trust"
)

// MinBytes and MaxBytes bound a secret's length, in bytes. White space at either end does not count.
const (
	MinBytes = 16
	MaxBytes = 4096
)

// Secret is the secret that the daemons of a cluster share. Printing it doesn't reveal it.
type Secret struct{ b []byte }

// Load reads a secret from a regular file that only its owner may read or write. The owner is root or the user of
// this program. No other user may be able to put another file in its place.
func Load(path string) (Secret, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block the start
	if err != nil {
		return Secret{}, fmt.Errorf("the cluster's secret: %w", err)
	}
	defer f.Close()
	if err := checkFile(f); err != nil {
		return Secret{}, fmt.Errorf("the cluster's secret: %s: %w", path, err)
	}
	if err := trust.Check(path); err != nil {
		return Secret{}, fmt.Errorf("the cluster's secret: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return Secret{}, fmt.Errorf("the cluster's secret: %w", err)
	}
	s, err := New(b)
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ownerError says that a file belongs to another user.
type ownerError string

func (e ownerError) Error() string { return string(e) }

// ForOthers reports whether Load failed only for the user of this process: the secret may be right for the user who will run the daemon.
func ForOthers(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.As(err, new(ownerError))
}

// checkFile checks the open file, because the name may mean another one by now.
func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is not a regular file (%v)", info.Mode().Type())
	}
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return fmt.Errorf("not only its owner may use it (mode %#o); set mode 0600", m)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return ownerError(fmt.Sprintf("it belongs to user %d, and user %d runs this daemon: give it to that user, or to root", st.Uid, os.Geteuid()))
	}
	return nil
}

// New returns the secret with the given bytes, without the white space around them. It fails if their number is out of
// range.
func New(b []byte) (Secret, error) {
	b = bytes.TrimSpace(b)
	if len(b) < MinBytes || len(b) > MaxBytes {
		return Secret{}, fmt.Errorf("the cluster's secret has %d bytes; it needs %d to %d, e.g. of: head -c 32 /dev/urandom | base64", len(b), MinBytes, MaxBytes)
	}
	return Secret{bytes.Clone(b)}, nil
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return len(s.b) == 0 }

// Key derives a key of n bytes (at most 8,160) for one use (HKDF with SHA-256, RFC 5869). The same use gives the same
// key on all daemons. Key panics for the zero Secret, which offers no secrecy.
func (s Secret) Key(use string, n int) []byte {
	if s.IsZero() {
		panic("secret: there is no secret to derive a key from")
	}
	k, err := hkdf.Key(sha256.New, s.b, nil, "heddle "+use, n)
	if err != nil {
		panic(fmt.Sprintf("secret: a key of %d bytes: %v", n, err)) // only if n is above 8,160
	}
	return k
}

// String hides the secret from logs.
func (s Secret) String() string {
	if s.IsZero() {
		return "no secret"
	}
	return "a secret"
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }
