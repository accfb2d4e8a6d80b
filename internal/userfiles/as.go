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

	// Shared is the group of the user's folders and logs, whose members may read them: the NodeManager's, not the
	// user's own, which other users may have, too.
	Shared int
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

// Folder describes a folder of the user's with the group Shared. A mode with fs.ModeSetgid passes the group on to what
// is made in the folder. For nil it belongs to the daemon and has the mode alone.
func (u *User) Folder(shared, alone fs.FileMode) Want {
	if u == nil {
		return u.Want(alone)
	}
	return Want{Mode: shared, UID: u.UID, GID: u.Shared}
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
