package nm

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"heddle/conf"
	"heddle/nm/runas"
	"heddle/yarn/account"
)

// asRoot admits containers of root's.
const asRoot = "heddle.container.run-as-root"

// checkRoot refuses to run all users' containers as root because of a configuration that was written for a NodeManager
// with an account of its own: YARN's DefaultContainerExecutor runs containers as the NodeManager's user. note is a
// warning for the administrator if that is admitted. Without a configuration folder see conf.CloseUp.
func checkRoot(c *conf.Config, uid int) (note string, err error) {
	const class = "yarn.nodemanager.container-executor.class"
	switch {
	case uid != 0 || c.Dir() == "":
		return "", nil
	case c.Bool(asRoot):
		return fmt.Sprintf("Containers of all users run as root, as %s = true admits", asRoot), nil
	}
	return "", &conf.StartedBy{Err: fmt.Errorf("%s is %s, so that containers run as the NodeManager's user, and that is root: "+
		"start the NodeManager as the user that YARN's ran as, such as yarn (User= in the unit of systemd), or set %s to %s, and "+
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users to false, to run containers as their users; %s = true admits containers of root's",
		class, c.Text(class), class, linuxExecutor, asRoot)}
}

// formerNode returns which accounts may have run a NodeManager on this machine before: no container may run as one of these, such as yarn. It returns
// nil unless containers run as their users.
func formerNode(c *conf.Config) func(uid int) bool {
	if c.Text("yarn.nodemanager.container-executor.class") != linuxExecutor {
		return nil
	}
	rules, _, err := runas.Read(c)
	if err != nil {
		return nil // ownerOf reports it
	}
	return func(uid int) bool {
		if uid == 0 {
			return false
		}
		name, err := account.System.Name(uid)
		return err == nil && rules.Check(name, uid) != nil
	}
}

// groups finds groups of the machine.
type groups interface {
	Group(name string) (gid int, err error)
}

// sharedGroup returns the group of users' folders and logs, whose members may read these: that of container-executor.cfg,
// as in Hadoop, or else of yarn-site.xml. Without either it is this process's own.
func sharedGroup(c *conf.Config, rules runas.Rules, machine groups) (int, error) {
	const key = "yarn.nodemanager.linux-container-executor.group"
	name, from := rules.Group, " of "+runas.File
	if name == "" {
		name, from = c.Text(key), ""
	}
	if name == "" {
		return os.Getegid(), nil
	}
	gid, err := machine.Group(name)
	if err != nil {
		return 0, &conf.StartedBy{Err: fmt.Errorf("%s%s is %q: Can't get group information for it: %w", key, from, name, err)} // the machines of the cluster may have it
	}
	return gid, nil
}

// logMode returns the mode of log folders where containers run as this process's user.
func logMode(c *conf.Config) (fs.FileMode, error) {
	const key = "yarn.nodemanager.default-container-executor.log-dirs.permissions"
	mode, err := strconv.ParseUint(c.Text(key), 8, 32)
	if err != nil || mode > 0o777 || mode&0o700 != 0o700 {
		return 0, fmt.Errorf("%s = %q: want an octal mode with all rights for the owner, such as 710", key, c.Text(key))
	}
	return fs.FileMode(mode), nil
}
