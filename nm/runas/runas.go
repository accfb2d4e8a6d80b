// Package runas decides as which users of the operating system containers may run, if they don't run as the
// NodeManager's own user.
//
// Rules, messages and configuration file (container-executor.cfg) are those of Hadoop's container-executor. Root may
// never run containers. Users with an id below a minimum, such as system accounts, may not unless they are listed.
// Banned users may not.
package runas

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/internal/trust"
	"heddle/internal/userfiles"
	"heddle/nm/image/request"
)

// File is the name of Hadoop's file in the configuration folder.
const File = "container-executor.cfg"

// Keys of the file that have an effect, and Heddle's keys, which take precedence.
const (
	minKey, bannedKey, allowedKey = "min.user.id", "banned.users", "allowed.system.users"

	MinKey     = "heddle.container.min-user-id"
	BannedKey  = "heddle.container.banned-users"
	AllowedKey = "heddle.container.allowed-system-users"
)

// Rules say who may run containers.
type Rules struct {
	MinUID  int      // users with a lower id are refused,
	Allowed []string // except for these
	Banned  []string // refused whatever their ids
	Group   string   // of users' folders (yarn.nodemanager.linux-container-executor.group in the file); "" if it isn't set there

	// Sections are those about runtimes, by name: docker and runc. Names of keys are without the section's and the dot.
	Sections map[string]map[string]string
}

// Default returns Hadoop's rules without any settings.
func Default() Rules {
	return Rules{MinUID: 1000, Banned: []string{"yarn", "mapred", "hdfs", "bin"}}
}

// Check returns an error for a user that containers may not run as.
func (r Rules) Check(name string, uid int) error {
	switch {
	case name == "root" || uid == 0:
		return fmt.Errorf("containers can't run as %q, because it is root: Running as root is not allowed", name)
	case uid < r.MinUID && !slices.Contains(r.Allowed, name):
		return fmt.Errorf("containers can't run as %q: Requested user %[1]s is not whitelisted and has id %d,which is below the minimum allowed %d"+
			" (%s and %s of %s, or %s and %s)", name, uid, r.MinUID, minKey, allowedKey, File, MinKey, AllowedKey)
	case slices.Contains(r.Banned, name):
		return fmt.Errorf("containers can't run as %q: Requested user %[1]s is banned (%s of %s, or %s)", name, bannedKey,
			File, BannedKey)
	}
	return nil
}

// Configuration provides Heddle's keys, such as a conf.Config.
type Configuration interface {
	Dir() string
	IsSet(key string) bool
	Int(key string) int
	Strings(key string) []string
}

// Read combines the rules of the file, if the configuration folder has one, and of Heddle's keys. ignored are the
// settings in the file that have no effect here.
func Read(c Configuration) (r Rules, ignored []string, err error) {
	r = Default()
	if c.Dir() != "" {
		if ignored, err = r.readFile(filepath.Join(c.Dir(), File)); err != nil {
			return r, nil, err
		}
	}
	if c.IsSet(MinKey) {
		r.MinUID = c.Int(MinKey)
	}
	if c.IsSet(BannedKey) {
		r.Banned = c.Strings(BannedKey)
	}
	if c.IsSet(AllowedKey) {
		r.Allowed = c.Strings(AllowedKey)
	}
	return r, ignored, nil
}

func (r *Rules) readFile(path string) (ignored []string, err error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch owner := userfiles.Owner(fi); {
	case owner != 0:
		//lint:ignore ST1005 Hadoop's words
		return nil, fmt.Errorf("File %s must be owned by root, but is owned by %d: who can write to it decides whom containers run as", path, owner)
	case fi.Mode().Perm()&0o022 != 0:
		//lint:ignore ST1005 Hadoop's words
		return nil, fmt.Errorf("File %s must not be world or group writable, but is %03o", path, fi.Mode().Perm())
	}
	if err := trust.Check(path); err != nil {
		return nil, err
	}
	if ignored, err = r.parse(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ignored, nil
}

// maxFile bounds the size of the file, in bytes.
const maxFile = 1 << 20

// parse parses the file: lines of key=value; # begins a comment. Sections in brackets are about runtimes and devices. If
// a key occurs twice, the first one counts. A key without a value is not set.
func (r *Rules) parse(in io.Reader) (ignored []string, err error) {
	section := ""
	seen := map[string]bool{}
	lines := bufio.NewScanner(io.LimitReader(in, maxFile))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !found || key == "" {
			return nil, fmt.Errorf("line %d: %.100q is not KEY=VALUE", n, line)
		}
		if value == "" {
			continue
		}
		if section != "" {
			if !r.setIn(strings.Trim(section, "[]"), key, value) {
				ignored = append(ignored, section+" "+key)
			}
			continue
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		effective, err := r.set(key, value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if !effective {
			ignored = append(ignored, key)
		}
	}
	return ignored, lines.Err()
}

// set reports whether the key has an effect.
func (r *Rules) set(key, value string) (effective bool, err error) {
	switch key {
	case minKey:
		if r.MinUID, err = strconv.Atoi(value); err != nil || r.MinUID < 0 {
			//lint:ignore ST1005 Hadoop's words
			return false, fmt.Errorf("Illegal value of %.100s for %s in configuration: want a number", value, minKey)
		}
	case bannedKey:
		r.Banned = names(value)
	case allowedKey:
		r.Allowed = names(value)
	case "yarn.nodemanager.linux-container-executor.group":
		r.Group = value
	default:
		return false, nil
	}
	return true, nil
}

// setIn reports whether a key of a section has an effect. If a key occurs twice, the first one counts.
func (r *Rules) setIn(section, key, value string) (effective bool) {
	key = strings.TrimPrefix(key, section+".")
	if section != request.Docker && section != request.Runc || !slices.Contains(request.Effective(section), key) {
		return false
	}
	if r.Sections == nil {
		r.Sections = make(map[string]map[string]string)
	}
	if r.Sections[section] == nil {
		r.Sections[section] = make(map[string]string)
	}
	if _, seen := r.Sections[section][key]; !seen {
		r.Sections[section][key] = value
	}
	return true
}

func names(list string) []string {
	var out []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
