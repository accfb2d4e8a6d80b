package probes_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/conf"
	"heddle/yarn/wire"
)

// A program runs a hundred commands on the nodes of a cluster, of which none asks the ResourceManager. The cluster lends nodes to short
// tasks (heddle.probes.memory-mb).
func Example() {
	cfg, err := conf.Load(conf.Options{Dir: os.Getenv("HADOOP_CONF_DIR")})
	if err != nil {
		log.Fatal(err)
	}
	s := probes.New(probes.Options{MemoryMB: 256})
	defer s.Close()
	app, err := probes.Cluster{Conf: cfg, Name: "a hundred commands"}.Start(context.Background(), s)
	if err != nil {
		log.Fatal(err)
	}
	var all sync.WaitGroup
	var tasks []*pool.Task
	for i := range 100 {
		all.Add(1)
		tasks = append(tasks, &pool.Task{
			Task:   wire.Task{Args: []string{"sh", "-c", fmt.Sprintf("echo task %d on $(hostname)", i)}, TimeoutMS: 60_000},
			Output: func(_ int, text []byte) { fmt.Printf("%s", text) },
			Done: func(e wire.Ended, err error) { // once for each task, however often it ran
				if err != nil || e.Why != wire.Ran || e.Exit != 0 {
					log.Printf("task %d: %v, %+v", i, err, e)
				}
				all.Done()
			},
		})
	}
	s.Job().Submit(tasks...)
	all.Wait()
	if err := app.Stop(); err != nil {
		log.Fatal(err)
	}
}
