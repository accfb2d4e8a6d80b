package nm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/nm/allocation"
	"heddle/nm/application"
	"heddle/nm/logs"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// appLogs deals with the logs of applications: they are aggregated if the node does that, and removed some time after
// the application's end else.
type appLogs struct {
	log        *logrus.Entry
	keeper     *logs.Keeper
	aggregator *logs.Aggregator // nil: logs aren't aggregated
	archive    func(user string) logs.Archive
	node       records.NodeID
	recovered  []records.ApplicationID

	mu      sync.Mutex
	waiting map[records.ApplicationID]chan error // applications whose aggregation is waited for
}

var _ Logs = (*appLogs)(nil)

// newAppLogs takes up the unfinished work of an earlier life. reported is called when there is something to report.
func newAppLogs(c *conf.Config, dirs logs.Dirs, files *hdfsadapter.Adapter, node records.NodeID, uid func(string) (int, error),
	bucket logs.Store, log *logrus.Entry, reported func(), credentials func(records.ApplicationID, []byte) []byte,
) (*appLogs, error) {
	const prefix = "yarn.nodemanager.log-aggregation."
	a := &appLogs{
		log: log, node: node, waiting: make(map[records.ApplicationID]chan error),
		keeper: logs.NewKeeper(dirs, c.Duration("yarn.nodemanager.log.retain-seconds"), bucket, nil, log),
	}
	if err := a.keeper.Recover(); err != nil {
		return nil, err
	}
	if !c.Bool("yarn.log-aggregation-enable") {
		return a, nil
	}
	name := "TFile" // Hadoop writes in the first format of the list
	if formats := c.Strings("yarn.log-aggregation.file-formats"); len(formats) > 0 {
		name = formats[0]
	}
	format, err := logs.ParseFormat(name, c.Text("yarn.log-aggregation.file-controller."+name+".class"))
	if err != nil {
		log.WithError(err).Warn("logs are aggregated in the format TFile")
		name = "TFile"
	}
	if err := logsReachable(c, files); err != nil {
		return nil, conf.ErrorAt(c, remoteLogs, err)
	}
	remote := logs.OnHDFS(files)
	place := logs.PlaceOf(name, c.Text)
	a.archive = func(user string) logs.Archive {
		if files.Secure() { // the owner's token may have ended; the caller may see the application
			user = ""
		}
		return logs.Archive{FS: remote.As(user), Place: place}
	}
	a.aggregator, err = logs.NewAggregator(logs.Config{
		Dirs: dirs, Remote: remote, Node: node, UID: uid, Store: bucket, Log: log, Reported: reported, Finished: a.finished, Credentials: credentials,
		Place:       place,
		Format:      format,
		Group:       logGroup(c),
		Compression: c.Text(prefix + "compression-type"),
		Policy:      c.Text(prefix + "policy.class"),
		Parameters:  c.Text(prefix + "policy.parameters"),
		Roll:        c.Duration(prefix + "roll-monitoring-interval-seconds"),
		MaxRolled:   c.Int(prefix + "num-log-files-per-app"),
		Uploads:     c.Int("yarn.nodemanager.logaggregation.threadpool-size-max"),
	})
	if err != nil {
		return nil, err
	}
	a.recovered, err = a.aggregator.Recover()
	return a, err
}

// remoteLogs names the root of aggregated logs.
const remoteLogs = "yarn.nodemanager.remote-app-log-dir"

// logsReachable says what keeps logs from being aggregated where the configuration says. The node doesn't start then: logs would be lost, one application after the other.
func logsReachable(c *conf.Config, files *hdfsadapter.Adapter) error {
	if !c.Bool("yarn.log-aggregation-enable") {
		return nil
	}
	return files.Reaches(c.Text(remoteLogs))
}

// logGroup returns the group of the root of aggregated logs, by default this process's own (Hadoop: LogAggregationFileController).
func logGroup(c *conf.Config) string {
	if name := c.Text("yarn.nodemanager.remote-app-log-dir.groupname"); name != "" {
		return name
	}
	if g, err := user.LookupGroupId(strconv.Itoa(os.Getegid())); err == nil {
		return g.Name
	}
	return ""
}

// adopt has logs removed of applications that neither known nor the aggregation knows any more.
func (a *appLogs) adopt(known func(records.ApplicationID) bool) {
	err := a.keeper.Adopt(func(app records.ApplicationID) bool {
		return known(app) || slices.Contains(a.recovered, app)
	})
	if err != nil {
		a.log.WithError(err).Warn("could not look for logs that are no longer needed")
	}
}

// stop leaves what isn't aggregated to the next life.
func (a *appLogs) stop() {
	if a.aggregator != nil {
		a.aggregator.Stop(context.Background(), false)
	}
}

func (a *appLogs) StartApplication(app application.Info) error {
	if a.aggregator == nil {
		return nil
	}
	acls := make(map[string]string)
	for t, list := range app.ACLs {
		switch t {
		case pb.ApplicationAccessType_APPACCESS_VIEW_APP:
			acls[logs.ViewApp] = list
		case pb.ApplicationAccessType_APPACCESS_MODIFY_APP:
			acls[logs.ModifyApp] = list
		}
	}
	return a.aggregator.StartApplication(logs.Start{App: app.ID, User: app.User, Tokens: app.Tokens, ACLs: acls, Wishes: logs.WishesFrom(app.LogContext)})
}

func (a *appLogs) ContainerStarted(g allocation.Grant) {
	if a.aggregator != nil {
		a.aggregator.ContainerStarted(g.ID, g.Master())
	}
}

func (a *appLogs) ContainerFinished(g allocation.Grant, exitCode int) {
	if a.aggregator != nil {
		a.aggregator.ContainerFinished(logs.Ended{ID: g.ID, Master: g.Master(), ExitCode: exitCode})
	}
}

func (a *appLogs) FinishApplication(ctx context.Context, app records.ApplicationID) error {
	if a.aggregator == nil {
		return a.keeper.Keep(app)
	}
	done := make(chan error, 1)
	a.mu.Lock()
	a.waiting[app] = done
	a.mu.Unlock()
	a.aggregator.FinishApplication(app)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finished is called once for every application that has finished. err is why its logs are still here.
func (a *appLogs) finished(app records.ApplicationID, err error) {
	if err != nil {
		if kept := a.keeper.Keep(app); kept != nil {
			err = fmt.Errorf("%w; they will stay here: %w", err, kept)
		}
	}
	a.mu.Lock()
	done := a.waiting[app]
	delete(a.waiting, app)
	a.mu.Unlock()
	if done != nil {
		done <- err
	}
}

func pbOf(reports []logs.Report) []*pb.LogAggregationReport {
	out := make([]*pb.LogAggregationReport, 0, len(reports))
	for _, r := range reports {
		out = append(out, r.PB())
	}
	return out
}

func (a *appLogs) Reports() []*pb.LogAggregationReport {
	if a.aggregator == nil {
		return nil
	}
	return pbOf(a.aggregator.TakeReports())
}

func (a *appLogs) Restore(undelivered []*pb.LogAggregationReport) {
	if a.aggregator == nil || len(undelivered) == 0 {
		return
	}
	back := make([]logs.Report, 0, len(undelivered))
	for _, m := range undelivered {
		back = append(back, logs.Report{
			App: records.ApplicationIDFrom(m.GetApplicationId()), Status: m.GetLogAggregationStatus(), Diagnostics: m.GetDiagnostics(),
		})
	}
	a.aggregator.PutBack(back)
}

func (a *appLogs) Last() []*pb.LogAggregationReport {
	if a.aggregator == nil {
		return nil
	}
	return pbOf(a.aggregator.Statuses())
}

// uploaded lists what is aggregated of the logs of a container that is still known here, with the rights of its owner.
func (a *appLogs) uploaded(ctx context.Context, id records.ContainerID, owner string) ([]logs.NodeLogs, error) {
	if a.aggregator == nil {
		return nil, nil
	}
	found, err := a.archive(owner).OfContainer(ctx, id, owner, a.node)
	if errors.Is(err, logs.ErrNoLogs) {
		return nil, nil
	}
	return found, err
}
