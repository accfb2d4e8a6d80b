//go:build unix && !linux

package userfiles

import "errors"

// As runs fn with the file system rights of o, which needs Linux unless o is nil.
func As(o *User, fn func() error) error {
	if o != nil {
		return errors.New("running containers as other users needs Linux")
	}
	return fn()
}
