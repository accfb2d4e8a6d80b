package raft

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"heddle/internal/statedir"
)

// identity says whose state a folder holds.
type identity struct {
	Role    string `json:"role"`
	ID      string `json:"id"`
	Cluster string `json:"cluster"`
	// Incarnation tells this folder from others that the member had. "" in folders of earlier versions, as long as they hold a log.
	Incarnation string `json:"incarnation,omitempty"`
	// Group is the id of the group of members that the state belongs to, "" as long as that isn't known. Members of two groups
	// have nothing to do with each other, whatever their cluster's name.
	Group string `json:"group,omitempty"`
	// Forming is true for the member that forms the group, until it has.
	Forming bool `json:"forming,omitempty"`
	// Forgotten says why the folder is set aside at the next start, "" if it isn't.
	Forgotten string `json:"forgotten,omitempty"`
	// Force is true from an administrator's order to lead without the others until that is done.
	Force bool `json:"force,omitempty"`
	// Replaces is the group that this one takes the place of: the one before Force, or one that was never formed. Members that have nothing of it
	// join this one.
	Replaces string `json:"replaces,omitempty"`
	// Gap is true from then on until the state machine has passed over what may be lost.
	Gap bool `json:"gap,omitempty"`
}

func (i identity) String() string {
	return fmt.Sprintf("%s %q of cluster %q", i.Role, i.ID, i.Cluster)
}

// serverID returns what raft calls the member.
func (i identity) serverID() hraft.ServerID { return serverID(i.ID, i.Incarnation) }

const identityName = "identity.json"

// folder is a state folder that this process has locked.
type folder struct {
	dir string

	mu    sync.Mutex
	me    identity
	locks []*os.File // identity.json and its replaced versions: a process that opened an old one must not lock that
}

// lockDir locks the state folder. No other process may use it while it is open, and it must hold this member's state or none.
func lockDir(dir string, me identity) (*folder, error) {
	if err := statedir.Make(dir); err != nil {
		return nil, fmt.Errorf("state folder: %w (is heddle.state.dir writable?)", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, identityName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w (is heddle.state.dir writable?)", err)
	}
	d := &folder{dir: dir, locks: []*os.File{f}}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("state folder %s is in use by another process: "+
			"give each ResourceManager on this machine its own id or heddle.state.dir (%w)", dir, err), d.close())
	}
	if err := d.claim(me); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *folder) claim(me identity) error {
	raw, err := os.ReadFile(filepath.Join(d.dir, identityName))
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	if len(raw) == 0 {
		me.Incarnation = newIncarnation()
		return d.save(me)
	}
	if err := json.Unmarshal(raw, &d.me); err != nil {
		return fmt.Errorf("state folder %s: identity.json is damaged (%w): restore it, or remove the folder to start afresh", d.dir, err)
	}
	if owner := d.me; owner.Role != me.Role || owner.ID != me.ID || owner.Cluster != me.Cluster {
		return fmt.Errorf("state folder %s holds the state of %v, this is %v: "+
			"set heddle.state.dir, the id or yarn.resourcemanager.cluster-id right, or remove the folder", d.dir, owner, me)
	}
	return nil
}

func (d *folder) identity() identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.me
}

// join records which group the state belongs to. It can't be changed.
func (d *folder) join(group string, forming bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	me := d.me
	if me.Group != "" && me.Group != group {
		return fmt.Errorf("the state belongs to group %s, and not to %s", me.Group, group)
	}
	if me.Group, me.Forming = group, forming; me == d.me {
		return nil
	}
	return d.save(me)
}

// leave ends the membership in a group of which this member has nothing, and which the caller's has replaced. It returns why the caller is refused
// for now: it calls again, and this member joins its group.
func (d *folder) leave(by greeting) error {
	err := d.change(func(me *identity) {
		if me.Group == by.Replaces && !me.Forming {
			me.Group = ""
		}
	})
	return errors.Join(fmt.Errorf("this member has nothing of group %s, and leaves it for that of %s", by.Replaces, by.From), err)
}

// change changes what the file says.
func (d *folder) change(f func(*identity)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	me := d.me
	f(&me)
	return d.save(me)
}

// admit decides about the group and the folder that a caller, who has proved its identity, expects here. id is this member's.
func (d *folder) admit(g greeting, id string, log *logrus.Entry) error {
	me := d.identity()
	switch {
	case g.old && me.Group == "":
		return fmt.Errorf("%s runs an earlier version, whose group new members can't join: upgrade it first", g.From)
	case me.Group == "" && g.Group == "":
		return fmt.Errorf("neither %s nor this member belongs to a group yet", g.From)
	case g.Group == "" && !g.old:
		return fmt.Errorf("%s belongs to no group, this member to %s", g.From, me.Group)
	case g.Folder != me.Incarnation:
		return fmt.Errorf("%s looks for another state folder of %s (incarnation %q, this one has %q): the one on the group's record was lost or replaced; "+
			"a leader takes the new one in, and until then it has no vote", g.From, id, g.Folder, me.Incarnation)
	case me.Group == "":
		log.WithField("group", g.Group).WithField("by", g.From).Info("joining the group")
		return d.join(g.Group, false)
	}
	return nil
}

// save replaces the file. It locks the new one before it puts it in place.
func (d *folder) save(me identity) error {
	raw, err := json.Marshal(me)
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, identityName)
	f, err := os.OpenFile(path+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = f.Write(append(raw, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err == nil {
		err = syncDir(d.dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("state folder: write %s: %w", identityName, err), f.Close())
	}
	d.me, d.locks = me, append(d.locks, f)
	return nil
}

func (d *folder) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, f := range d.locks {
		errs = append(errs, f.Close())
	}
	d.locks = nil
	return errors.Join(errs...)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// newGroup returns the id of a group that is being formed.
func newGroup() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// earlierGroup returns the id of a group that was formed by a version without ids: all its members must derive the same.
func earlierGroup(cluster string) string {
	sum := sha256.Sum256([]byte("heddle raft group of cluster " + cluster))
	return hex.EncodeToString(sum[:16])
}
