package container

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"heddle/hdfsadapter/jvm"
	"heddle/internal/userfiles"
	"heddle/internal/within"
	"heddle/nm/gpu"
	"heddle/nm/jvmarchive"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/proc"
	"heddle/nm/workdir"
	"heddle/yarn/pb"
	"heddle/yarn/proxyca"
)

// launch starts the container's process. Where an earlier try has left folders they are used again, as Hadoop does: a
// program that is started again finds what it has written.
func (c life) launch() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	owner, err := c.m.owner(c.grant.User)
	if err != nil {
		return err
	}
	if ok, report := c.m.Disks.Healthy(); !ok {
		return errors.New(report)
	}
	// The end of the container doesn't wait for a disk.
	at, err := within.Do(c.ctx, func() (files, error) { return c.prepareFiles(owner) })
	if err != nil {
		return err
	}
	spec := c.spec(at.Places, owner)
	if spec.Image, err = within.Do(c.ctx, func() (*launch.Image, error) { return withImage(c.Container, at.image) }); err != nil {
		return err
	}
	group, err := c.box.Make(c.ctx)
	if err != nil {
		return err
	}
	s, err := launch.Start(spec, group)
	if err != nil {
		return err
	}
	boot, err := proc.BootID()
	if err != nil {
		s.Abandon()
		return err
	}
	c.mu.Lock()
	c.session = s
	c.record.Launched = time.Now().UnixMilli()
	c.record.Boot, c.record.Keeper, c.record.Image = boot, s.Keeper(), spec.Image != nil
	c.mu.Unlock()
	// The process begins only when it is certain to be found again.
	if err := c.Saved(c.ctx); err != nil {
		s.Abandon()
		return err
	}
	if err := s.Open(); err != nil {
		s.Abandon()
		return err
	}
	c.mu.Lock()
	took := c.record.Launched - c.record.Started
	c.mu.Unlock()
	c.m.counters.launched.Add(1)
	c.m.counters.launchTime.Add(took * int64(time.Millisecond))
	c.toRunning()
	c.m.changed()
	return nil
}

func (c life) spec(at workdir.Places, owner *userfiles.User) launch.Spec {
	return launch.Spec{
		ID: c.ID().String(), Script: filepath.Join(at.Work, launch.ScriptFile), WorkDir: at.Work,
		Status: filepath.Join(at.Private, workdir.StatusFile), Output: filepath.Join(at.Private, workdir.OutputFile),
		Credential: owner.Credential(),
	}
}

// prepareFiles is writeFiles on a disk that may have come, or come back, since the application's folders were made.
func (c life) prepareFiles(owner *userfiles.User) (files, error) {
	at, err := c.writeFiles(owner)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = c.m.Localizer.InitApplication(c.grant.User, c.ID().Attempt.App); err == nil {
			at, err = c.writeFiles(owner)
		}
	}
	return at, err
}

// writeFiles writes the launch script and the credentials into the work folder.
func (c life) writeFiles(owner *userfiles.User) (files, error) {
	c.mu.Lock()
	at, context := c.record.Places, c.context
	c.mu.Unlock()
	var work *userfiles.Dir
	var err error
	if at.Work == "" {
		if at, work, err = workdir.Make(c.m.Disks, c.grant.User, c.ID(), owner); err != nil {
			return files{}, err
		}
	} else if work, err = workdir.MakeWork(c.m.Disks, at.Work, owner); err != nil {
		return files{}, err
	}
	defer work.Close()
	c.mu.Lock()
	c.record.Places = at
	c.mu.Unlock()

	s, err := c.script(at, context, owner)
	if err != nil {
		return files{}, err
	}
	in, err := inImage(c.Container, &s, at, owner)
	if err != nil {
		return files{}, err
	}
	if in != nil {
		in.Script = filepath.Join(at.Work, launch.ScriptFile)
	} else { // the Java of an image is another
		c.archive(&s, at, owner)
	}
	script, err := s.Bytes()
	if err != nil {
		return files{}, err
	}
	if err := work.Write(launch.ScriptFile, script, owner.Folder(0o700, 0o700)); err != nil {
		return files{}, err
	}
	return files{at, in}, launch.WriteCredentials(work, context.GetTokens(), owner.Folder(0o600, 0o600))
}

// script composes launch_container.sh.
func (c life) script(at workdir.Places, lc *pb.ContainerLaunchContext, owner *userfiles.User) (launch.Script, error) {
	cfg, id, user := &c.m.cfg, c.ID(), c.grant.User
	vars := make(map[string]string)
	for _, v := range lc.GetEnvironment() {
		vars[v.GetKey()] = v.GetValue()
	}
	javaHome, ok := vars["JAVA_HOME"]
	if !ok {
		javaHome, _ = cfg.Environ("JAVA_HOME")
	}
	x := launch.Expander{LogDir: at.Log}
	err := userfiles.As(owner, func() error {
		x.AddOpens = jvm.Version(javaHome) >= 17
		return nil
	})
	if err != nil {
		return launch.Script{}, err
	}
	for k, v := range vars {
		vars[k] = x.Expand(v)
	}
	env := launch.Environment{
		App: vars, TokensFile: filepath.Join(at.Work, launch.TokensFile), Stores: proxyca.Stores(lc.GetTokens()), ContainerID: id.String(),
		Host: cfg.Node.Host, Port: int(cfg.Node.Port), HTTPPort: cfg.HTTPPort,
		LogDirs: at.Logs, User: user, Home: cfg.Home, WorkDir: at.Work,
		AuxServices: c.m.Aux.Metadata(),
		Whitelist:   cfg.EnvWhitelist, Admin: cfg.AdminEnv, ForcePath: cfg.ForcePath, Own: cfg.Environ,
	}
	for _, local := range c.m.Disks.Local.Writable() {
		env.LocalDirs = append(env.LocalDirs, localizer.AppDir(local, user, id.Attempt.App))
		env.UserDirs = append(env.UserDirs, localizer.UserDir(local, user)+"/")
	}
	s := launch.Script{LogDir: at.Log, Debug: cfg.DebugInfo}
	c.mu.Lock()
	if cfg.GPUs != nil {
		env.Devices = gpu.Environment(c.record.GPUs)
	}
	env.LocalizationCounter = c.counters
	paths := maps.Clone(c.paths)
	c.mu.Unlock()
	if s.Links, err = workdir.Links(c.m.Disks, paths); err != nil {
		return launch.Script{}, err
	}
	s.Inherit, s.Env = env.Vars()
	for _, command := range lc.GetCommand() {
		s.Command = append(s.Command, x.Expand(command))
	}
	return s, nil
}

// archive lets a Java program in the container start quickly, if the node has such archives.
func (c life) archive(s *launch.Script, at workdir.Places, owner *userfiles.User) {
	if c.m.Archives == nil {
		return
	}
	g := c.Grant()
	a := jvmarchive.Container{
		ID: c.ID().String(), App: c.ID().Attempt.App.String(), User: g.User, Owner: owner, Stage: g.Priority, Work: at.Work,
		Locals: c.m.Disks.Local.All(),
	}
	for _, local := range c.m.Disks.Local.Writable() {
		user := localizer.UserDir(local, g.User)
		a.AppDirs = append(a.AppDirs, filepath.Join(user, localizer.AppCache))
		a.UserDirs = append(a.UserDirs, filepath.Join(local, localizer.UserCache))
	}
	ended := c.m.Archives.Prepare(s, a)
	c.mu.Lock()
	c.archived = ended
	c.mu.Unlock()
}

// removeFiles deletes what the container leaves. Script and credentials go at once, the rest may be kept for a while
// (yarn.nodemanager.delete.debug-delay-sec).
func (c life) removeFiles(at workdir.Places) {
	if at.Work == "" {
		return
	}
	err := errors.Join(c.m.Deleter.DeleteNow(append(launch.Secrets(at.Work), at.Private)...), c.m.Deleter.Delete(at.Work))
	if err != nil {
		c.log.WithError(err).Warn("could not have the container's files deleted")
	}
}
