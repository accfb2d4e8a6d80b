package image

import (
	"fmt"

	"heddle/internal/userfiles"
	"heddle/nm/disks"
	"heddle/nm/image/bundle"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/workdir"
	"heddle/yarn/records"
)

// Asking is a container that is about to be launched.
type Asking struct {
	ID       records.ContainerID
	Script   *launch.Script
	At       workdir.Places
	Disks    *disks.Disks
	User     string          // who submitted its application
	Tokens   []byte          // the container's credentials
	Name     string          // of the user that it runs as
	Owner    *userfiles.User // that user
	Groups   bool            // cgroups hold its processes
	Runtimes launch.Runtimes
	Path     func(resource string) string // of a localized resource, by its name; "": there is none
}

// Judge decides how a container is run: in an image, or on the machine (nil). It fails if what the container asks for isn't allowed.
func (r *Runner) Judge(a Asking) (*Start, error) {
	env := make(map[string]string)
	for _, v := range a.Script.Env {
		env[v.Name] = v.Value
	}
	want, err := r.Wanted(env)
	switch {
	case err != nil:
		//lint:ignore ST1005 Hadoop's words
		return nil, fmt.Errorf("Unable to prepare container: %w", err)
	case want == nil:
		return nil, a.Runtimes.Check(a.Script.Env)
	case !a.Groups:
		return nil, fmt.Errorf("runtime %s: images need cgroups, which this node can't use", want.Kind)
	}
	return &Start{
		ID: a.ID.String(), Request: want, User: a.Owner, Name: a.Name, Private: a.At.Private, Work: a.At.Work,
		LogDir: a.At.Log,
		By:     localizer.Reader{User: a.User, Tokens: a.Tokens}, Vars: a.Script.Env, Command: a.Script.Command,
		Folders: a.folders(), Find: a.find,
	}, nil
}

// folders are the node's that a container in an image gets: those that Hadoop mounts.
func (a Asking) folders() (all []bundle.Folder) {
	for _, log := range a.At.Logs {
		if base, elems, ok := userfiles.Below(a.Disks.Logs.All(), log); ok {
			all = append(all, bundle.Folder{Base: base, Elems: elems, Write: true})
		}
	}
	app := a.ID.Attempt.App.String()
	for _, local := range a.Disks.Local.Readable() {
		all = append(all,
			bundle.Folder{Base: local, Elems: []string{localizer.UserCache, a.User, localizer.AppCache, app}, Write: true},
			bundle.Folder{Base: local, Elems: []string{localizer.FileCache}},
			bundle.Folder{Base: local, Elems: []string{localizer.UserCache, a.User, localizer.FileCache}})
	}
	return all
}

func (a Asking) find(resource string) *bundle.Folder {
	base, elems, ok := userfiles.Below(a.Disks.Local.All(), a.Path(resource))
	if !ok {
		return nil
	}
	return &bundle.Folder{Base: base, Elems: elems}
}
