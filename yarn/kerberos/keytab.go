package kerberos

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
)

// maxKeytab is the largest keytab that we read, in bytes.
const maxKeytab = 16 << 20

// Keytab is a file of keys. It may be replaced while it is in use: a ticket that no known key opens makes it read again. It is safe for concurrent use.
type Keytab struct {
	path string

	mu    sync.Mutex
	keys  *keytab.Keytab
	stamp stamp
}

// stamp changes with a file.
type stamp struct {
	size     int64
	modified time.Time
}

// OpenKeytab reads a keytab.
func OpenKeytab(path string) (*Keytab, error) {
	k := &Keytab{path: path}
	if _, err := k.reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// Keys returns what the file had when it was last read.
func (k *Keytab) Keys() *keytab.Keytab {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys
}

// Principals returns the full names whose keys the file had when it was last read, in order.
func (k *Keytab) Principals() []string {
	var names []string
	for _, e := range k.Keys().Entries {
		names = append(names, e.Principal.String())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Reload reads the file if it has changed.
func (k *Keytab) Reload() error {
	_, err := k.reload()
	return err
}

// reload reads the file if it has changed, and reports whether it did.
func (k *Keytab) reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.path)
	if err != nil {
		return false, fmt.Errorf("keytab: %w", err)
	}
	now := stamp{info.Size(), info.ModTime()}
	if k.keys != nil && now == k.stamp {
		return false, nil
	}
	if info.Size() > maxKeytab {
		return false, fmt.Errorf("keytab %s: %w: %d bytes, and the limit is %d", k.path, fs.ErrInvalid, info.Size(),
			maxKeytab)
	}
	b, err := os.ReadFile(k.path)
	if err != nil {
		return false, fmt.Errorf("keytab: %w", err)
	}
	keys, err := parseKeytab(b)
	if err != nil {
		return false, fmt.Errorf("keytab %s: %w", k.path, err)
	}
	k.keys, k.stamp = keys, now
	return true, nil
}

func parseKeytab(b []byte) (keys *keytab.Keytab, err error) {
	defer noPanic(&err)
	keys = keytab.New()
	if err := keys.Unmarshal(b); err != nil {
		return nil, err
	}
	newestFirst(keys)
	return keys, nil
}

// newestFirst has the highest version of a key chosen where a message names none. gokrb5 takes the key with the latest second, and the older of two that were
// made within one.
func newestFirst(keys *keytab.Keytab) {
	sort.SliceStable(keys.Entries, func(i, j int) bool { return keys.Entries[i].KVNO > keys.Entries[j].KVNO })
	for i := range keys.Entries {
		keys.Entries[i].Timestamp = time.Unix(1, 0) // the same for all: the first one is taken
	}
}

// open decrypts a ticket by the key of its service, version and cipher.
func (k *Keytab) open(t *messages.Ticket) (err error) {
	defer noPanic(&err)
	try := func() error {
		key, _, err := k.Keys().GetEncryptionKey(t.SName, t.Realm, t.EncPart.KVNO, t.EncPart.EType)
		if err != nil {
			return err
		}
		b, err := decrypt(key, usageTicket, t.EncPart)
		if err != nil {
			return err
		}
		return t.DecryptedEncPart.Unmarshal(b)
	}
	if err = try(); err == nil {
		return nil
	}
	if changed, failed := k.reload(); failed != nil || !changed {
		return err
	}
	return try()
}
