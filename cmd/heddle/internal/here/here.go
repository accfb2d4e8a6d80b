// Package here finds the cluster of this machine that nobody has configured: heddle standalone without a configuration folder.
package here

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/am/client"
	"heddle/conf"
	"heddle/yarn/pb"
)

// patience is how long a program that listens at the ResourceManager's port may take to answer like one.
const patience = 2 * time.Second

// ResourceManager reports whether a ResourceManager answers at the address of a configuration that names none, and was started by this user or by root. A stranger's is passed
// over: commands, and what they read, would be theirs. Where nothing listens it takes no time.
func ResourceManager(ctx context.Context, c *conf.Config) bool {
	at, err := c.RMAddresses("yarn.resourcemanager.address")
	if err != nil || len(at) != 1 {
		return false
	}
	owners, err := Owners("", at[0].Port)
	if err != nil || len(owners) == 0 || slices.ContainsFunc(owners, func(uid int) bool { return uid != 0 && uid != os.Geteuid() }) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return answers(ctx, c)
}

// answers reports whether a ResourceManager answers.
func answers(ctx context.Context, c *conf.Config) bool {
	user, err := client.User()
	if err != nil {
		return false
	}
	cluster, err := client.NewCluster(c, nil)
	if err != nil {
		return false
	}
	defer cluster.Close()
	apps, err := cluster.Applications(user)
	if err != nil {
		return false
	}
	_, err = apps.NodeReports(ctx, pb.NodeState_NS_RUNNING)
	return err == nil
}

// Owners returns the users who listen at a TCP port of this machine, by /proc/net/tcp and tcp6 below root.
func Owners(root string, port int) (uids []int, err error) {
	for _, file := range []string{"tcp", "tcp6"} {
		f, err := os.Open(root + "/proc/net/" + file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := listeners(f, port)
		_ = f.Close() // only read from
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		uids = append(uids, found...)
	}
	return uids, nil
}

// listeners returns who listens at a port, of a table of the kernel.
func listeners(r io.Reader, port int) (uids []int, err error) {
	const address, state, owner, listening = 1, 3, 7, "0A"
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		if len(w) <= owner || w[state] != listening {
			continue
		}
		_, local, _ := strings.Cut(w[address], ":")
		if n, err := strconv.ParseUint(local, 16, 16); err != nil || int(n) != port {
			continue
		}
		uid, err := strconv.Atoi(w[owner])
		if err != nil {
			return nil, fmt.Errorf("the owner of a socket is %q: %w", w[owner], err)
		}
		uids = append(uids, uid)
	}
	return uids, lines.Err()
}
