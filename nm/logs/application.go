package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/nm/logs/ifile"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// application is an application whose logs are aggregated. The Aggregator's lock guards containers and finishing. The
// rest belongs to the goroutine of run.
type application struct {
	Start
	policy        Policy
	uid           int
	whole, rolled filter

	containers map[records.ContainerID]*container
	finishing  bool
	finish     chan struct{} // closed by FinishApplication
}

type container struct {
	Ended
	finished bool
	over     bool            // it has ended, and all its logs are uploaded
	uploaded map[string]bool // marks of its uploaded logs
}

// rolls reports whether logs are uploaded while the application runs.
func (a *Aggregator) rolls(app *application) bool {
	return a.cfg.Roll > 0 && app.Wishes.RolledInclude != ""
}

// run handles an application until its logs need no more work.
func (a *Aggregator) run(app *application) {
	defer a.wg.Done()
	log := a.log.WithField("application", app.App.String())
	if !a.waitForEnd(app, log) {
		return // the next start continues
	}
	err := a.uploadFinally(app, log)
	if a.ctx.Err() != nil && err != nil {
		return
	}
	if err == nil {
		err = removeLogs(a.cfg.Dirs, app.App)
		if err != nil {
			log.WithError(err).Warn("logs are aggregated, but can't be removed from this node")
		}
	}
	a.mu.Lock()
	delete(a.apps, app.App)
	a.mu.Unlock()
	a.forget(app)
	if a.cfg.Finished != nil {
		a.cfg.Finished(app.App, err)
	}
}

// waitForEnd uploads rolling logs until the application has finished. It returns false if the Aggregator stops first.
func (a *Aggregator) waitForEnd(app *application, log *logrus.Entry) bool {
	var roll <-chan time.Time
	if a.rolls(app) {
		t := time.NewTicker(a.cfg.Roll)
		defer t.Stop()
		roll = t.C
	}
	for {
		select {
		case <-a.ctx.Done():
			return false
		case <-app.finish:
			return true
		case <-roll:
			text, err := a.upload(app, false)
			if err != nil {
				log.WithError(err).Warn("rolled logs cannot be aggregated now")
				a.report(app.App, pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE, err.Error())
				continue
			}
			a.report(app.App, pb.LogAggregationStatus_LOG_RUNNING, text)
		}
	}
}

// uploadFinally uploads the remaining logs, and repeats that after failures.
func (a *Aggregator) uploadFinally(app *application, log *logrus.Entry) error {
	began := a.cfg.Now()
	for wait := a.cfg.RetryFirst; ; wait = min(2*wait, time.Minute) {
		text, err := a.upload(app, true)
		if err == nil {
			a.report(app.App, pb.LogAggregationStatus_LOG_RUNNING, text)
			a.report(app.App, pb.LogAggregationStatus_LOG_SUCCEEDED, "")
			return nil
		}
		if a.ctx.Err() != nil {
			return err
		}
		a.report(app.App, pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE, err.Error())
		if errors.Is(err, fs.ErrPermission) || a.cfg.Now().Sub(began)+wait > a.cfg.RetryFor {
			log.WithError(err).Error("logs cannot be aggregated and stay on this node")
			a.report(app.App, pb.LogAggregationStatus_LOG_FAILED, err.Error())
			return err
		}
		log.WithFields(logrus.Fields{logrus.ErrorKey: err, "retry": wait}).Warn("logs cannot be aggregated now")
		select {
		case <-time.After(wait):
		case <-a.ctx.Done():
			return err
		}
	}
}

// chosen is a container with its logs to upload.
type chosen struct {
	*container
	id    records.ContainerID
	files []logFile
	marks map[string]bool // marks of all its existing logs
	last  bool            // no further logs can follow
}

// choose returns what to upload. Before the application's end that is its rolling logs, and all logs of containers that
// have ended.
func (a *Aggregator) choose(app *application, final bool) ([]chosen, error) {
	if final {
		a.discover(app)
	}
	a.mu.Lock()
	var cs []chosen
	for _, id := range slices.SortedFunc(maps.Keys(app.containers), records.ContainerID.Compare) {
		c := app.containers[id]
		if !c.over && app.policy(c.Ended) {
			cs = append(cs, chosen{container: c, id: id, last: c.finished})
		}
	}
	a.mu.Unlock()
	for i := range cs {
		c := &cs[i]
		files, err := list(a.cfg.Dirs, c.id)
		if err != nil {
			return nil, fmt.Errorf("logs of container %s: %w", c.id, err)
		}
		c.marks = map[string]bool{}
		for _, f := range files {
			c.marks[f.mark()] = true
			wanted := app.whole.takes(f.name)
			if !final {
				wanted = app.rolled.takes(f.name) || c.last && wanted
			}
			if wanted && !c.uploaded[f.mark()] {
				c.files = append(c.files, f)
			}
		}
	}
	return cs, nil
}

// discover registers containers that left logs but were never reported, for example because a NodeManager died at the
// wrong moment. The application's directory will soon be removed with everything in it.
func (a *Aggregator) discover(app *application) {
	for _, dir := range a.cfg.Dirs.Readable() {
		infos, err := userfiles.ReadDir(dir, app.App.String())
		if err != nil && !errors.Is(err, userfiles.ErrTooMany) {
			continue // choose reports it
		}
		for _, fi := range infos {
			id, err := records.ParseContainerID(fi.Name())
			if err != nil || id.Attempt.App != app.App || !fi.IsDir() {
				continue
			}
			a.mu.Lock()
			if app.containers[id] == nil {
				app.containers[id] = &container{
					Ended: Ended{ID: id, Master: id.Sequence() == 1}, finished: true, uploaded: map[string]bool{},
				}
			}
			a.mu.Unlock()
		}
	}
}

// upload copies the chosen logs into a new remote file, and returns the text for the report.
func (a *Aggregator) upload(app *application, final bool) (string, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-a.ctx.Done():
		return "", context.Cause(a.ctx)
	}
	cs, err := a.choose(app, final)
	if err != nil || len(cs) == 0 {
		return "", err
	}
	at := a.cfg.Now().UnixMilli()
	if slices.ContainsFunc(cs, func(c chosen) bool { return len(c.files) > 0 }) {
		if err := a.write(app, cs, at); err != nil {
			return "", &uploadError{app.App, a.cfg.Node, at, err}
		}
	}
	for _, c := range cs {
		a.mark(app, c)
		if !final {
			a.removeUploaded(c)
		}
	}
	return fmt.Sprintf("Log uploaded successfully for Application: %s in NodeManager: %s at %s\n", app.App,
		nodeName(a.cfg.Node), FormatTime(at)), nil
}

// uploadError has YARN's words and the cause.
type uploadError struct {
	app  records.ApplicationID
	node records.NodeID
	at   int64 // ms since 1970
	err  error
}

func (e *uploadError) Error() string {
	return fmt.Sprintf("Log uploaded failed for Application: %s in NodeManager: %s at %s: %v", e.app, nodeName(e.node),
		FormatTime(e.at), e.err)
}
func (e *uploadError) Unwrap() error { return e.err }

// mark records which logs of a container are uploaded.
func (a *Aggregator) mark(app *application, c chosen) {
	a.mu.Lock()
	for m := range c.uploaded {
		if !c.marks[m] {
			delete(c.uploaded, m) // the log is gone
		}
	}
	for _, f := range c.files {
		c.uploaded[f.mark()] = true
	}
	c.over = c.last
	a.mu.Unlock()
	a.saveContainer(app, c.id)
}

// write makes the remote file.
func (a *Aggregator) write(app *application, cs []chosen, at int64) error {
	own, user := a.cfg.Remote.As(""), a.cfg.Remote.Bearing(app.User, a.cfg.Credentials(app.App, app.Tokens))
	if err := a.checkRoot(own); err != nil {
		return err
	}
	dir := a.cfg.Place.AppDir(app.App, app.User)
	if err := a.makeAppDir(user, dir); err != nil {
		return err
	}
	name := nodeName(a.cfg.Node)
	tmp := dir + "/" + name + tmpName
	if err := a.fill(app, user, tmp, cs, at); err != nil {
		// Remove the incomplete file even if the context has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 10*time.Second)
		defer cancel()
		if rerr := user.Remove(ctx, tmp, false); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			a.log.WithFields(logrus.Fields{"file": tmp, logrus.ErrorKey: rerr}).Debug("cannot remove an incomplete file")
		}
		return err
	}
	if a.rolls(app) {
		a.removeRolled(user, dir, name)
	}
	final := dir + "/" + name
	if a.cfg.Roll > 0 {
		final = fmt.Sprintf("%s_%d", final, at)
	}
	err := user.Rename(a.ctx, tmp, final)
	for errors.Is(err, fs.ErrExist) {
		// An earlier NodeManager uploaded a file with this name before it died. Readers read both.
		at++
		err = user.Rename(a.ctx, tmp, fmt.Sprintf("%s/%s_%d", dir, name, at))
	}
	return err
}

// checkRoot makes the root directory, once. It holds no lock, because the remote file system may be slow.
func (a *Aggregator) checkRoot(own FS) error {
	if a.rootSeen.Load() {
		return nil
	}
	root := a.cfg.Place.Root
	info, err := own.Stat(a.ctx, root)
	if errors.Is(err, fs.ErrNotExist) {
		a.rootOurs.Store(true)
		err = own.MkdirAll(a.ctx, root, rootMode)
	}
	switch {
	case err != nil:
		return err
	case a.rootOurs.Load():
		if err := own.Chmod(a.ctx, root, rootMode); err != nil { // the umask may have removed bits
			return err
		}
		a.giveToGroup(own, root)
	case info.Mode&(fs.ModePerm|fs.ModeSticky) != rootMode:
		a.log.WithFields(logrus.Fields{"folder": root, "mode": info.Mode.String(), "want": rootMode.String()}).
			Warn("the root of aggregated logs has the wrong permissions: users may not be able to write there")
	}
	a.rootSeen.Store(true)
	return nil
}

// giveToGroup gives the root directory that was just made to the group whose members may read all logs, such as the history server's user.
// Application directories inherit it in HDFS.
func (a *Aggregator) giveToGroup(own FS, root string) {
	to, able := own.(interface {
		Chown(ctx context.Context, name, owner, group string) error
	})
	if !able || a.cfg.Group == "" {
		return
	}
	if err := to.Chown(a.ctx, root, "", a.cfg.Group); err != nil {
		a.log.WithError(err).WithField("folder", root).Warnf("the root of aggregated logs doesn't belong to the group %s: a history server of that group can't read the logs", a.cfg.Group)
	}
}

// makeAppDir makes the missing directories between the root and an application's logs.
func (a *Aggregator) makeAppDir(user FS, dir string) error {
	var missing []string
	for d := dir; d != strings.TrimSuffix(a.cfg.Place.Root, "/"); d = d[:strings.LastIndexByte(d, '/')] {
		info, err := user.Stat(a.ctx, d)
		if err == nil {
			if info.Mode.Perm() != dirMode {
				// The directory may be half made, or belong to another. The latter decides about its permissions.
				if err := user.Chmod(a.ctx, d, dirMode); err != nil && !errors.Is(err, fs.ErrPermission) {
					return err
				}
			}
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		if err := user.MkdirAll(a.ctx, d, dirMode); err != nil {
			return err
		}
		if err := user.Chmod(a.ctx, d, dirMode); err != nil { // the umask may have removed bits
			return err
		}
	}
	return nil
}

// fill writes the logs to a file.
func (a *Aggregator) fill(app *application, user FS, name string, cs []chosen, at int64) (err error) {
	out, err := user.Create(a.ctx, name, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	w, err := a.newWriter(out, app, path.Base(name), at)
	if err != nil {
		return err
	}
	for _, c := range cs {
		if len(c.files) == 0 {
			continue
		}
		if err := w.begin(c.id); err != nil {
			return err
		}
		for _, f := range c.files {
			if err := a.ctx.Err(); err != nil {
				return err
			}
			if err := a.addLog(app, w, c.id, f); err != nil {
				return err
			}
		}
		if err := w.end(); err != nil {
			return err
		}
	}
	return w.close()
}

// addLog adds one log. It omits or truncates a log that can't be read, so that the others don't suffer.
func (a *Aggregator) addLog(app *application, w archiveWriter, id records.ContainerID, f logFile) error {
	log := a.log.WithFields(logrus.Fields{"application": app.App.String(), "container": id.String(), "file": path.Join(f.dir, f.name)})
	in, err := f.open(id, app.uid)
	if err != nil {
		log.WithError(err).Warn("a log is not aggregated")
		return nil
	}
	defer in.Close()
	err = w.add(f, in)
	var broken readError
	var indexed ifile.ReadError
	if errors.As(err, &broken) || errors.As(err, &indexed) {
		log.WithError(err).Warn("a log is aggregated incompletely")
		return nil
	}
	return err
}

// removeRolled removes this node's oldest files to make room for another one.
func (a *Aggregator) removeRolled(user FS, dir, name string) {
	infos, err := user.List(a.ctx, dir)
	if err != nil {
		a.log.WithFields(logrus.Fields{"folder": dir, logrus.ErrorKey: err}).Warn("cannot look for old rolled logs")
		return
	}
	infos = slices.DeleteFunc(infos, func(i FileInfo) bool {
		return !isNodeFile(i.Name, name)
	})
	slices.SortFunc(infos, func(a, b FileInfo) int {
		return strings.Compare(strconv.FormatInt(1e15+a.ModTime, 10)+a.Name, strconv.FormatInt(1e15+b.ModTime, 10)+b.Name)
	})
	for _, i := range infos[:max(0, len(infos)-a.cfg.MaxRolled+1)] {
		if err := user.Remove(a.ctx, dir+"/"+i.Name, false); err != nil {
			a.log.WithFields(logrus.Fields{"file": dir + "/" + i.Name, logrus.ErrorKey: err}).Warn("cannot remove old rolled logs")
		}
	}
}

// isNodeFile reports whether a remote file is a complete file of the node.
func isNodeFile(file, node string) bool {
	rest, ok := strings.CutPrefix(file, node)
	if !ok || rest == "" {
		return ok
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(rest, "_"), 10, 64)
	return rest[0] == '_' && err == nil
}

// removeUploaded removes uploaded logs of a running application.
func (a *Aggregator) removeUploaded(c chosen) {
	for _, f := range c.files {
		if err := removeLog(f, c.id); err != nil {
			a.log.WithFields(logrus.Fields{"container": c.id.String(), "file": f.name, logrus.ErrorKey: err}).Warn("cannot remove an aggregated log")
		}
	}
}

func removeLog(f logFile, id records.ContainerID) error {
	return userfiles.Remove(f.dir, id.Attempt.App.String(), id.String(), f.name)
}
