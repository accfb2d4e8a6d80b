package mounts

import "os"

// Look reads which hierarchies are mounted and where in them this process is.
func Look() ([]Mount, Membership, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	mounts, err := ParseMounts(f)
	if err != nil {
		return nil, nil, err
	}
	g, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	own, err := ParseMembership(g)
	return mounts, own, err
}
