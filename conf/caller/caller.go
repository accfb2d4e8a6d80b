// Package caller finds the user that a command acts as: with Kerberos the owner of its ticket or delegation token; without it the user that it claims to be.
package caller

import (
	"fmt"
	"os"
	"os/user"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/conf/usernames"
	"heddle/yarn/ipc"
)

// Caller is a caller of a ResourceManager.
type Caller struct {
	User     string // the short name
	Identity ipc.Identity
}

// Of returns who runs this process. Without Kerberos that is $HADOOP_USER_NAME, or else the user of the operating system. $HADOOP_PROXY_USER names a
// user for whom the caller acts, as with Hadoop's commands. With Kerberos the error for a ticket that is missing says to run kinit.
func Of(c *conf.Config) (Caller, error) {
	proxied := os.Getenv("HADOOP_PROXY_USER")
	if !secure.On(c) {
		name, err := claimed()
		if err != nil || proxied == "" {
			return Caller{name, ipc.Identity{User: name}}, err
		}
		return Caller{proxied, ipc.Identity{User: proxied, RealUser: name}}, nil
	}
	l, err := secure.Cache(c)
	if err != nil {
		return Caller{}, err
	}
	rules, err := usernames.Of(c)
	if err != nil {
		return Caller{}, err
	}
	short, err := rules.Short(l.Principal())
	if err != nil {
		return Caller{}, fmt.Errorf("the ticket's owner: %w (hadoop.security.auth_to_local)", err)
	}
	tickets, err := secure.ForResourceManagers(c, l)
	if err != nil {
		return Caller{}, err
	}
	if proxied != "" {
		return Caller{proxied, ipc.Identity{User: proxied, RealUser: l.Principal(), Kerberos: tickets}}, nil
	}
	return Caller{short, ipc.Identity{User: l.Principal(), Kerberos: tickets}}, nil
}

func claimed() (string, error) {
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		return name, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("can't determine your user name; set HADOOP_USER_NAME: %w", err)
	}
	return u.Username, nil
}
