package cgroup

import "os"

// look reads which hierarchies are mounted and where in them this process is.
func look() ([]mount, membership, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	mounts, err := parseMounts(f)
	if err != nil {
		return nil, nil, err
	}
	g, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	own, err := parseMembership(g)
	return mounts, own, err
}
