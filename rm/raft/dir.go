package raft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// identity says whose state a folder holds.
type identity struct {
	Role    string `json:"role"`
	ID      string `json:"id"`
	Cluster string `json:"cluster"`
}

func (i identity) String() string {
	return fmt.Sprintf("%s %q of cluster %q", i.Role, i.ID, i.Cluster)
}

// lockDir makes the state folder ours: nobody else may use it while the returned file is open, and it must hold our own
// state or none.
func lockDir(dir string, me identity) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w (is heddle.state.dir writable?)", err)
	}
	path := filepath.Join(dir, "identity.json")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w (is heddle.state.dir writable?)", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("state folder %s is in use by another process: "+
			"give each ResourceManager on this machine its own id or heddle.state.dir (%w)", dir, err)
	}
	if err := claim(f, dir, me); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func claim(f *os.File, dir string, me identity) error {
	raw, err := fs.ReadFile(os.DirFS(dir), "identity.json")
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	if len(raw) > 0 {
		var owner identity
		if err := json.Unmarshal(raw, &owner); err != nil {
			return fmt.Errorf("state folder %s: identity.json is damaged (%w): restore it, or remove the folder to start afresh",
				dir, err)
		}
		if owner != me {
			return fmt.Errorf("state folder %s holds the state of %v, this is %v: "+
				"set heddle.state.dir, the id or yarn.resourcemanager.cluster-id right, or remove the folder", dir, owner, me)
		}
		return nil
	}
	raw, err = json.Marshal(me)
	if err == nil {
		_, err = f.Write(append(raw, '\n'))
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	return nil
}
