package bundle

import (
	"encoding/json"
	"strings"
	"testing"

	"heddle/nm/image/request"
)

// A container is neither root nor able to become it, and has namespaces of its own, whatever it asks for.
func TestWhatTheRuntimeIsTold(t *testing.T) {
	for _, network := range []string{"host", "none"} {
		c := Container{
			ID: "container_1", Private: "/private", Work: "/work", User: &Owner{UID: 1001, GID: 1002, Groups: []int{5}}, Args: []string{"/bin/bash"},
			Request: &request.Request{Network: network, Tmpfs: []string{"/run"}, Capabilities: []string{"CAP_KILL"}},
		}
		c.Config.Config.Env = []string{"A=image", "B=image", "=x", "odd", "C=a\x00b"}
		c.Env = []string{"A=container"}
		text, err := c.compose([]mount{{"/x", "bind", "/y", []string{"bind", "ro"}}})
		if err != nil {
			t.Fatal(err)
		}
		var s spec
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, n := range s.Linux.Namespaces {
			kinds = append(kinds, n.Type)
		}
		want := "mount ipc uts pid"
		if network == "none" {
			want += " network"
		}
		if strings.Join(kinds, " ") != want {
			t.Errorf("namespaces %v", kinds)
		}
		p := s.Process
		if !p.NoNewRights || p.User.UID != 1001 || p.User.GID != 1002 || p.User.Umask != 0o027 || len(p.Capabilities) != 1 || len(p.Capabilities["bounding"]) != 1 {
			t.Errorf("process %+v", p)
		}
		if got := strings.Join(p.Env, " "); got != "A=container B=image PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" {
			t.Errorf("variables %s", got)
		}
		for _, m := range s.Mounts {
			if m.Target != "/x" && !strings.Contains(strings.Join(m.Options, " "), "nosuid") {
				t.Errorf("mount %+v admits setuid programs", m)
			}
		}
	}
}

// The text of a user's line holds one user, and whatever an image has before it stays.
func FuzzWithAccount(f *testing.F) {
	f.Add("root:x:0:0::/:/bin/sh", "ann", "/home/ann")
	f.Add("ann:x:7:7::/:/bin/sh\n", "ann", "/a:b\nroot:x:0:0")
	f.Fuzz(func(t *testing.T, text, name, home string) {
		if !plainName.MatchString(name) {
			return
		}
		out := withAccount([]byte(text), name, &Owner{UID: 1001, GID: 1002}, home)
		if out == nil {
			return
		}
		rest, ok := strings.CutPrefix(string(out), text)
		rest = strings.TrimPrefix(rest, "\n")
		if !ok || !strings.HasPrefix(rest, name+":x:1001:1002::") || strings.Count(rest, "\n") != 1 || strings.Count(rest, ":") != 6 {
			t.Errorf("added %q", rest)
		}
	})
}
