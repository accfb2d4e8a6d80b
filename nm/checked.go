package nm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/conf/serviceacl"
	"heddle/conf/ssl"
	"heddle/hdfsadapter"
	"heddle/internal/connections"
	"heddle/internal/secret"
	"heddle/internal/trust"
	"heddle/nm/auxservices"
	"heddle/nm/logs"
	"heddle/yarn/rest/auth"
)

// Check returns all that keeps a NodeManager of this machine from starting with a configuration. It opens and makes nothing.
func Check(c *conf.Config) (found []conf.Problem) {
	check := func(key string, err error) {
		if err == nil {
			return
		}
		for _, p := range conf.Problems(conf.ErrorAt(c, key, err)) {
			p.Roles = conf.NodeManager
			found = append(found, p)
		}
	}
	s, err := readSettings(c)
	check("", err)
	if err == nil {
		check("", checkFolders(&s))
	} else if errors.As(err, new(*conf.StartedBy)) { // it holds for another user as well what is wrong with services
		check("", s.readJava(c))
	}
	for _, note := range s.notes {
		found = append(found, conf.Problem{Severity: conf.Warning, Message: note, Roles: conf.NodeManager})
	}
	_, err = readSecret(c)
	check(secretKey, err)
	if secure.On(c) {
		_, err = secure.NodeManager(c)
		check("", err)
		if c.Text(secure.ManagerAccount) == "" {
			_, err = secure.ForResourceManagers(c, nil)
			check("", err)
		}
	}
	_, _, err = serviceacl.WithGroups(c, nil)
	check("", err)
	_, err = auth.FromConf(c, webDaemon(c))
	check("", err)
	_, err = auth.Guards(c, "nodemanager", nil, nil)
	check("", err)
	_, err = ssl.Web(c, nil)
	check("", err)
	_, err = ssl.Shuffle(c, nil)
	check("", err)
	for _, p := range auxservices.Problems(c) {
		p.Roles = conf.NodeManager
		found = append(found, p)
	}
	found = append(found, ssl.Problems(c, webDaemon(c).Host, time.Now())...)
	descriptors, err := connections.Descriptors()
	if err == nil {
		_, err = connections.LimitsOf(c, descriptors)
	}
	check(connections.ReservedKey, err)
	if files, err := hdfsadapter.New(c, hdfsadapter.Options{}); err != nil {
		check("fs.defaultFS", err)
	} else {
		check(remoteLogs, logsReachable(c, files))
		files.Close()
	}
	_, err = c.RMAddresses("yarn.resourcemanager.resource-tracker.address")
	check("", err)
	if c.Bool("yarn.log-aggregation-enable") {
		const policy = "yarn.nodemanager.log-aggregation.policy."
		_, err = logs.NewPolicy(c.Text(policy+"class"), c.Text(policy+"parameters"))
		check(policy+"class", err)
	}
	return found
}

// checkFolders names folders of the node that other users of the machine can replace: state, local and log folders. It also says so if users of containers can
// pass through to no local folder, or to no log folder.
func checkFolders(s *settings) error {
	found := []error{trust.Check(s.state)}
	var closed []error
	for name, dirs := range map[string][]string{"local-dirs": s.disks.Local, "log-dirs": s.disks.Logs} {
		if len(dirs) == 0 {
			return fmt.Errorf("yarn.nodemanager.%s names no folder", name)
		}
		if why := s.disks.Closed(dirs[0]); why != "" && !slices.ContainsFunc(dirs, func(dir string) bool { return s.disks.Closed(dir) == "" }) {
			closed = append(closed, fmt.Errorf("none of yarn.nodemanager.%s can be used: %s", name, why))
		}
		for _, dir := range dirs {
			if s.disks.FormerOf(dir, name == "local-dirs") != nil {
				continue // the NodeManager takes it over when it starts
			}
			found = append(found, trust.Check(dir))
			for _, name := range s.disks.Inside {
				found = append(found, trust.Check(filepath.Join(dir, name)))
			}
		}
	}
	for i, err := range found {
		var culprit *trust.Error
		if found[i] = nil; errors.As(err, &culprit) {
			found[i] = &conf.StartedBy{Err: err}
		}
	}
	return errors.Join(append(found, closed...)...)
}

const secretKey = "heddle.cluster.secret-file"

// readSecret reads the cluster's secret; nil if it has none.
func readSecret(c *conf.Config) (*secret.Secret, error) {
	path := c.Text(secretKey)
	if path == "" {
		return nil, nil
	}
	s, err := secret.Load(path)
	if err != nil {
		err = fmt.Errorf("%s: %w", secretKey, err)
		if secret.ForOthers(err) {
			err = &conf.StartedBy{Err: err}
		}
		return nil, err
	}
	return &s, nil
}

// asRootOnly returns an error if this process isn't root's, as running containers as their users needs.
func asRootOnly() error {
	if os.Geteuid() == 0 {
		return nil
	}
	return &conf.StartedBy{Err: fmt.Errorf("yarn.nodemanager.container-executor.class is %s, which lets containers run as their users: the NodeManager must be started by root for it", linuxExecutor)}
}
