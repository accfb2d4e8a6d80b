package container

import (
	"heddle/internal/userfiles"
	"heddle/nm/cgroup"
	"heddle/nm/image"
	"heddle/nm/launch"
	"heddle/nm/workdir"
)

// files are those that a container's process finds.
type files struct {
	workdir.Places
	image *image.Start // nil: the process runs on the machine
}

// inImage decides how a container with this script is run. Without users of their own, containers run on the machine whatever they ask
// for, as with Hadoop's DefaultContainerExecutor.
func inImage(c *Container, s *launch.Script, at workdir.Places, owner *userfiles.User) (*image.Start, error) {
	if owner == nil {
		if note := launch.IgnoredRuntime(s.Env); note != "" {
			c.Diagnose(note)
		}
		return nil, nil
	}
	c.mu.Lock()
	paths, tokens := c.paths, c.context.GetTokens()
	c.mu.Unlock()
	a := image.Asking{
		ID: c.ID(), Script: s, At: at, Disks: c.m.Disks, User: c.grant.User, Tokens: tokens, Name: c.grant.User, Owner: owner,
		Groups: c.m.Groups.Kind() != cgroup.None, Runtimes: c.m.cfg.Runtimes, Path: func(resource string) string { return paths[resource] },
	}
	if c.m.cfg.RunsAs != nil {
		a.Name = c.m.cfg.RunsAs(a.User)
	}
	return c.m.Images.Judge(a)
}

// withImage prepares the image that a process is started in; nil if it runs on the machine.
func withImage(c *Container, s *image.Start) (*launch.Image, error) {
	if s == nil {
		return nil, nil
	}
	c.mu.Lock()
	s.GPUs = c.record.GPUs
	c.mu.Unlock()
	return c.m.Images.Prepare(c.ctx, *s)
}
