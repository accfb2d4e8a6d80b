// Package here finds the unconfigured cluster of this machine: heddle standalone without a configuration folder.
package here

import (
	"context"
	"os"
	"slices"
	"time"

	"heddle/am/client"
	"heddle/cmd/heddle/internal/sockets"
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
	user, err := client.User(c)
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

// Owners returns the users who listen at a TCP port of this machine; see package sockets.
func Owners(root string, port int) (uids []int, err error) {
	all, err := sockets.At(root, port, sockets.Listening)
	for _, s := range all {
		if s.User >= 0 {
			uids = append(uids, s.User)
		}
	}
	return uids, err
}
