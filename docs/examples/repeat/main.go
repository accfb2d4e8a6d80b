// Command repeat runs a shell command in a number of containers of a YARN cluster, and repeats those that fail. It is an example of an
// application: one program that submits itself, and is its own ApplicationMaster.
//
//	repeat -n 10 -memory 256 'echo hello from $CONTAINER_ID'
//
// It runs on Heddle and on a stock Hadoop. HADOOP_CONF_DIR names the cluster's configuration, here and on the nodes.
package main

import (
	"context"
	"flag"
	"fmt"
	"heddle/am"
	"heddle/am/client"
	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/yarn/records"
	"os"
	"os/signal"
	"syscall"
)

// task is what the user wants done. The ApplicationMaster gets it in its arguments.
type task struct {
	count, tries int
	memory       int64
	command      string
	binary       string
}

func main() {
	var t task
	flag.IntVar(&t.count, "n", 1, "how often the command runs")
	flag.IntVar(&t.tries, "tries", 3, "how many failures end the application")
	flag.Int64Var(&t.memory, "memory", 256, "memory of a container in MB")
	flag.StringVar(&t.binary, "binary", "", "this program where nodes can read it, such as hdfs:///apps/repeat (default: its local file)")
	flag.Parse()
	if t.command = flag.Arg(0); flag.NArg() != 1 || t.count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := submit
	if os.Getenv("CONTAINER_ID") != "" { // a node has started it
		do = master
	}
	if err := do(ctx, t); err != nil {
		fmt.Fprintln(os.Stderr, "repeat:", err)
		os.Exit(1)
	}
}

// submit has the cluster start the ApplicationMaster, and waits for the end.
func submit(ctx context.Context, t task) error {
	c, err := conf.Load(conf.Options{Dir: conf.Locate("", nil)})
	if err != nil {
		return err
	}
	program, err := program(ctx, c, t.binary)
	if err != nil {
		return err
	}
	cluster, err := client.NewCluster(c, nil)
	if err != nil {
		return err
	}
	defer cluster.Close()
	apps, err := cluster.Applications("")
	if err != nil {
		return err
	}
	id, _, err := apps.New(ctx)
	if err != nil {
		return err
	}
	command := fmt.Sprintf("exec ./repeat -n %d -tries %d -memory %d \"$REPEATED\" 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr", t.count, t.tries, t.memory)
	err = apps.Submit(ctx, client.Submission{
		ID: id, Name: "repeat", Resource: records.NewResource(512, 1),
		AM: client.Launch{
			Command: []string{client.Quote(command)}, Resources: map[string]client.Resource{"repeat": program},
			Env: map[string]string{"HADOOP_CONF_DIR": c.Dir(), "REPEATED": client.Quote(t.command)},
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(id)
	r, err := apps.Wait(ctx, id, nil)
	if err == nil && !r.Succeeded() {
		err = fmt.Errorf("%v: %s", id, r.Diagnostics)
	}
	return err
}

// program is this program as nodes fetch it.
func program(ctx context.Context, c *conf.Config, name string) (client.Resource, error) {
	files, err := hdfsadapter.New(c, hdfsadapter.Options{})
	if err != nil {
		return client.Resource{}, err
	}
	defer files.Close()
	if name == "" {
		if name, err = os.Executable(); err != nil {
			return client.Resource{}, err
		}
		name = "file://" + name
	}
	info, err := files.As("").Stat(ctx, name)
	return client.Resource{URL: info.Path, Size: info.Size, ModTime: info.ModTime, Type: client.File, Visibility: client.Application}, err
}

// master is the ApplicationMaster: it has a container run the command for each time that it isn't done.
func master(ctx context.Context, t task) error {
	return am.Run(ctx, am.Options{}, func(ctx context.Context, m *am.Master) error {
		request := am.Request{Resource: records.NewResource(t.memory, 1), Count: t.count}
		if _, err := m.Request(request); err != nil {
			return err
		}
		done, failures := 0, 0
		for e := range m.Events() {
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					m.Start(c.ID, am.Launch{Command: []string{"{", client.Quote(t.command), "; } 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"}})
				}
			case am.ContainerCompleted:
				if e.ExitStatus == 0 {
					if done++; done == t.count {
						return nil
					}
					m.SetProgress(float32(done) / float32(t.count))
					continue
				}
				if failures++; failures >= t.tries {
					return fmt.Errorf("%d failures, the last on %v: %s", failures, e.Container.Node, e.Diagnostics)
				}
				request.Count = 1
				if _, err := m.Request(request); err != nil {
					return err
				}
			case am.RequestsRefused:
				return e.Err
			}
		}
		return context.Cause(ctx)
	})
}
