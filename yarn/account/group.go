package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Group returns the id of a group of the machine, also of one in LDAP. It runs the command getent.
func (d *Directory) Group(name string) (gid int, err error) {
	if err := check(name); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.Patience)
	defer cancel()
	leave, err := d.enter(ctx)
	if err != nil {
		return 0, fmt.Errorf("group %q: %w", name, err)
	}
	defer leave()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, "getent", "--", "group", name)
	cmd.Stderr = &complaint
	cmd.Env = environment
	out, err := cmd.Output()
	var exit *exec.ExitError
	const unknown = 2 // getent's exit code
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == unknown:
		return 0, fmt.Errorf("group %q: no such group", name)
	case err != nil:
		return 0, fmt.Errorf("group %q: getent: %w %s", name, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return parseGroup(name, string(out))
}

// parseGroup reads a line of getent: NAME:PASSWORD:GID:MEMBERS.
func parseGroup(name, line string) (gid int, err error) {
	fields := strings.Split(line, ":")
	if len(fields) < 3 || fields[0] != name {
		return 0, fmt.Errorf("group %q: getent printed %.100q", name, line)
	}
	n, err := strconv.ParseUint(fields[2], 10, 31)
	if err != nil {
		return 0, fmt.Errorf("group %q: getent printed %.100q", name, line)
	}
	return int(n), nil
}
