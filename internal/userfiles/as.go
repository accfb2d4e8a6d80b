//go:build unix

package userfiles

import (
	"io/fs"
	"syscall"
)

// User is the operating system's user that a container runs as, if that isn't the daemon's own.
type User struct {
	UID, GID int
	Groups   []int // supplementary
}

// ID is the user's number; Anybody for nil.
func (u *User) ID() int {
	if u == nil {
		return Anybody
	}
	return u.UID
}

// Want is how a folder or file of the user's is to be; for nil it stays the daemon's.
func (u *User) Want(mode fs.FileMode) Want {
	if u == nil {
		return Want{Mode: mode, UID: Keep, GID: Keep}
	}
	return Want{Mode: mode, UID: u.UID, GID: u.GID}
}

// Pass is how a folder of the daemon's is to be that the user's group has the group's rights in.
func (u *User) Pass(mode fs.FileMode) Want {
	w := u.Want(mode)
	w.UID = Keep
	return w
}

// Credential is the identity that the user's processes get; nil for nil.
func (u *User) Credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	c := &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
	for _, g := range u.Groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}
