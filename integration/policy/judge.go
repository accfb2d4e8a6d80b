package policy

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/rm"
)

// files writes the files of a scenario into a folder: the fair scheduler's file, the table of racks, and the list of
// excluded hosts. It returns the settings with the files' names.
func (sc *Scenario) files(dir string, settings Settings, allocations string) (Settings, error) {
	out := maps.Clone(settings)
	write := func(key, name, text string) error {
		out[key] = filepath.Join(dir, name)
		return os.WriteFile(out[key], []byte(text), 0o644)
	}
	var errs []error
	if allocations != "" {
		errs = append(errs, write("yarn.scheduler.fair.allocation.file", "fair-scheduler.xml", allocations))
	}
	if len(sc.racks) > 0 {
		var table strings.Builder
		hosts := sc.hosts()
		for name, rack := range sc.racks {
			fmt.Fprintf(&table, "%s %s\n", hosts[name], rack)
		}
		out["net.topology.node.switch.mapping.impl"] = "org.apache.hadoop.net.TableMapping"
		errs = append(errs, write("net.topology.table.file.name", "racks", table.String()))
	}
	if slices.ContainsFunc(sc.Steps, func(s Step) bool { return s.Verb == "retire" }) {
		errs = append(errs, write("yarn.resourcemanager.nodes.exclude-path", "retired", strings.Join(sc.retired, "\n")))
	}
	return out, errors.Join(errs...)
}

// writeSite writes the site files of a folder: capacity-scheduler.xml, and yarn-site.xml with everything else.
func writeSite(dir string, settings Settings) error {
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	files := map[string][]property{"yarn-site.xml": nil, "core-site.xml": nil, "capacity-scheduler.xml": nil}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		file := "yarn-site.xml"
		switch {
		case strings.HasPrefix(key, capacityPrefix):
			file = "capacity-scheduler.xml"
		case !strings.HasPrefix(key, "yarn.") && !strings.HasPrefix(key, "heddle."):
			file = "core-site.xml"
		}
		files[file] = append(files[file], property{key, settings[key]})
	}
	for name, properties := range files {
		b, err := xml.MarshalIndent(struct {
			XMLName  xml.Name   `xml:"configuration"`
			Property []property `xml:"property"`
		}{Property: properties}, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), append([]byte(xml.Header), b...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// OnHeddle plays the scenario on Heddle's ResourceManager, in this process, with its files in a folder.
func (sc *Scenario) OnHeddle(ctx context.Context, dir string, log *logrus.Entry) (_ Outcome, err error) {
	own := Settings{"heddle.state.dir": filepath.Join(dir, "state")}
	for _, key := range []string{rm.ClientAddress, rm.MasterAddress, rm.TrackerAddress, rm.AdminAddress, rm.WebAddress} {
		own[key] = "127.0.0.1:0"
	}
	rewrite := func(s Settings, allocations string) error {
		all, err := sc.files(dir, s, allocations)
		if err != nil {
			return err
		}
		maps.Copy(all, own)
		return writeSite(dir, all)
	}
	if err := rewrite(sc.Settings, sc.Allocations); err != nil {
		return nil, err
	}
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	if r := c.Validate(); !r.OK() {
		return nil, fmt.Errorf("%v", r)
	}
	types, err := c.ResourceTypes()
	if err != nil {
		return nil, err
	}
	r, err := rm.New(rm.Options{Conf: c, Log: log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-done)
	}()
	at := addresses{
		client: r.Addr(rm.ClientAddress).String(), master: r.Addr(rm.MasterAddress).String(),
		tracker: r.Addr(rm.TrackerAddress).String(), admin: r.Addr(rm.AdminAddress).String(),
	}
	return sc.perform(ctx, at, types, sc.Quiet, rewrite)
}

// OnStock plays the scenario on a stock ResourceManager, with its files in a folder. Its log goes to the log as well.
func (sc *Scenario) OnStock(ctx context.Context, dir string, log *logrus.Entry) (_ Outcome, err error) {
	site, err := sc.files(dir, sc.Settings, sc.Allocations)
	if err != nil {
		return nil, err
	}
	for _, store := range []string{"yarn.node-labels", "yarn.node-attribute"} { // by default all ResourceManagers of a machine share them
		site[store+".fs-store.root-dir"] = "file://" + filepath.Join(dir, store)
	}
	if err := writeSite(dir, site); err != nil {
		return nil, err
	}
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	types, err := c.ResourceTypes()
	if err != nil {
		return nil, err
	}
	lab, err := hadooplab.New(ctx, hadooplab.Options{ResourceManager: true, Site: site, Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() {
		said := lab.Daemon("resourcemanager").Log()
		log.Debug(said)
		if err != nil {
			err = fmt.Errorf("%w\nlog:\n%s", err, lastLines(said, 60))
		}
		err = errors.Join(err, lab.Close())
	}()
	port := func(service string) string { return fmt.Sprintf("localhost:%d", lab.Port(service)) }
	at := addresses{client: port("rm"), master: port("rm-scheduler"), tracker: port("rm-tracker"), admin: port("rm-admin")}
	return sc.perform(ctx, at, types, stockPatience*sc.Quiet, func(s Settings, allocations string) error {
		all, err := sc.files(dir, s, allocations)
		if err != nil {
			return err
		}
		next := filepath.Join(dir, "next")
		if err := errors.Join(os.MkdirAll(next, 0o755), writeSite(next, all)); err != nil {
			return err
		}
		return os.Rename(filepath.Join(next, "capacity-scheduler.xml"), filepath.Join(lab.Conf(), "capacity-scheduler.xml"))
	})
}

// stockPatience multiplies the quiet time on a stock ResourceManager, which answers a heartbeat before it decides.
const stockPatience = 3

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
