//go:build unix

package userfiles

import (
	"io/fs"
	"syscall"
)

// User is the operating system's user of a container's processes, if that isn't the daemon's own.
type User struct {
	UID, GID int
	Groups   []int // supplementary
}

// ID returns the user's uid, or Anybody for nil.
func (u *User) ID() int {
	if u == nil {
		return Anybody
	}
	return u.UID
}

// Want describes a folder or file that belongs to the user. For nil it belongs to the daemon.
func (u *User) Want(mode fs.FileMode) Want {
	if u == nil {
		return Want{Mode: mode, UID: Keep, GID: Keep}
	}
	return Want{Mode: mode, UID: u.UID, GID: u.GID}
}

// Pass describes a folder of the daemon's that the user's group may use with the group's permissions.
func (u *User) Pass(mode fs.FileMode) Want {
	w := u.Want(mode)
	w.UID = Keep
	return w
}

// Credential returns the identity for the user's processes; nil for nil.
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
