//go:build unix && !linux

package userfiles

import "errors"

// As runs fn with the file system rights of o. It fails unless o is nil: that needs Linux.
func As(o *User, fn func() error) error {
	if o != nil {
		return errors.New("running containers as other users needs Linux")
	}
	return fn()
}
