package launch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Var is an environment variable.
type Var struct{ Name, Value string }

// Link is a symbolic link in a container's work folder. It is made before the command starts.
type Link struct {
	Name   string // relative; missing folders in it are made
	Target string // absolute
}

// Script is the content of launch_container.sh. Values and commands are in double quotes and not quoted further. YARN
// promises that the shell expands $X in them, and programs rely on what it does with quotes and backslashes. All of it
// runs as the user who wrote it.
type Script struct {
	LogDir  string // folder of prelaunch.out, prelaunch.err and copies for debugging
	Inherit []Var  // the NodeManager's values, used for variables that the shell lacks
	Env     []Var  // set in this order
	Links   []Link
	Debug   bool     // leave a copy of the script and a listing of the work folder beside the logs
	Command []string // joined by blanks
}

// Names of files in a container's folders.
const (
	ScriptFile    = "launch_container.sh"
	TokensFile    = "container_tokens"
	PrelaunchOut  = "prelaunch.out"
	PrelaunchErr  = "prelaunch.err"
	DirectoryInfo = "directory.info"
)

// Credentials returns the content of container_tokens: tokens, or a file without any (magic, version, no tokens, no secrets).
func Credentials(tokens []byte) []byte {
	if len(tokens) == 0 {
		return []byte("HDTS\x00\x00\x00")
	}
	return tokens
}

// Bytes returns the script. It fails for a link with an absolute name or a relative target.
func (s Script) Bytes() ([]byte, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	line("#!/bin/bash\n")
	line("set -o pipefail -e")
	line("export PRELAUNCH_OUT=%s", quote(path.Join(s.LogDir, PrelaunchOut)))
	line(`exec >"${PRELAUNCH_OUT}"`)
	line("export PRELAUNCH_ERR=%s", quote(path.Join(s.LogDir, PrelaunchErr)))
	line(`exec 2>"${PRELAUNCH_ERR}"`)

	line(`echo "Setting up env variables"`)
	for _, v := range s.Inherit {
		line(`export %s=${%s:-"%s"}`, v.Name, v.Name, v.Value)
	}
	for _, v := range s.Env {
		line(`export %s="%s"`, v.Name, v.Value)
	}

	line(`echo "Setting up job resources"`)
	made := make(map[string]bool)
	for _, l := range s.Links {
		if err := l.check(); err != nil {
			return nil, err
		}
		if dir := path.Dir(l.Name); dir != "." && !made[dir] {
			made[dir] = true
			line("mkdir -p -- %s", quote(dir))
		}
		line("ln -sf -- %s %s", quote(l.Target), quote(l.Name))
	}

	if s.Debug {
		s.debug(line)
	}
	line(`echo "Launching container"`)
	line(`exec /bin/bash -c "%s"`, strings.Join(s.Command, " "))
	return []byte(b.String()), nil
}

func (s Script) debug(line func(string, ...any)) {
	line(`echo "Copying debugging information"`)
	line("# Creating copy of launch script")
	script := quote(path.Join(s.LogDir, ScriptFile))
	line("cp %s %s", quote(ScriptFile), script)
	line("chmod 640 %s", script)
	line("# Determining directory contents")
	info := quote(path.Join(s.LogDir, DirectoryInfo))
	for i, look := range []struct{ title, command string }{
		{"ls -l:", "ls -l"},
		{"find -L . -maxdepth 5 -ls:", "find -L . -maxdepth 5 -ls"},
		{"broken symlinks(find -L . -maxdepth 5 -type l -ls):", "find -L . -maxdepth 5 -type l -ls"},
	} {
		to := "1>>"
		if i == 0 {
			to = "1>"
		}
		line("echo %s %s%s", quote(look.title), to, info)
		line("%s 1>>%s", look.command, info)
	}
}

func (l Link) check() error {
	switch {
	case !path.IsAbs(l.Target):
		return fmt.Errorf("resource %q: its local path %q is not absolute", l.Name, l.Target)
	case path.IsAbs(l.Name):
		return fmt.Errorf("resource %q: Destination must be relative", l.Name)
	case l.Name == "" || strings.ContainsRune(l.Name, 0) || strings.ContainsRune(l.Target, 0):
		return fmt.Errorf("resource name %q is no file name", l.Name)
	}
	return nil
}

// quote returns s as one literal word of a shell.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		if slices.Contains([]byte("\"\\$`"), s[i]) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
	return b.String()
}
