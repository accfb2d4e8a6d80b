package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"heddle/am"
	"heddle/am/client"
	"heddle/conf"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// The recordings have a MapReduce sleep job with two maps in them. This program stands in for it, so that no Java is needed:
// called with "job" it submits itself, called with "am" it is the ApplicationMaster.

const (
	jobMemory   = 512 // MiB, of the ApplicationMaster and of each task
	jobTasks    = 2
	mapPriority = 20
)

// roles are what the test binary can be instead of a test.
var roles = map[string]func([]string) error{"job": submitJob, "am": runJob}

// submitJob submits the job as $HADOOP_USER_NAME: queue, the file that ends it, tags.
func submitJob(args []string) error {
	if len(args) != 3 {
		return errors.New("job QUEUE FILE TAGS")
	}
	dir := os.Getenv("HADOOP_CONF_DIR")
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		return err
	}
	cluster, err := client.NewCluster(c, nil)
	if err != nil {
		return err
	}
	defer cluster.Close()
	apps, err := cluster.Applications(os.Getenv("HADOOP_USER_NAME"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	id, _, err := apps.New(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return apps.Submit(ctx, client.Submission{
		ID: id, Name: "Sleep job", Type: "MAPREDUCE", Queue: args[0], Tags: strings.Split(args[2], ","),
		Resource: records.NewResource(jobMemory, 1), MaxAttempts: 2,
		AM: am.Launch{
			Command: []string{self, "am", args[1], "1><LOG_DIR>/stdout", "2><LOG_DIR>/stderr"},
			Env:     map[string]string{"HADOOP_CONF_DIR": dir},
		},
	})
}

// runJob runs the tasks, with web pages as MapReduce's ApplicationMaster has them.
func runJob(args []string) error {
	if len(args) != 1 {
		return errors.New("am FILE")
	}
	wait := fmt.Sprintf("until [ -e %s ]; do sleep 0.1; done", args[0])
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	id, err := records.ParseContainerID(os.Getenv("CONTAINER_ID"))
	if err != nil {
		return err
	}
	pages := http.Server{Handler: jobPages(id.Attempt.App)}
	go pages.Serve(listener)
	defer pages.Close()
	url := "http://localhost:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	return am.Run(context.Background(), am.Options{TrackingURL: url, Port: listener.Addr().(*net.TCPAddr).Port}, func(_ context.Context, m *am.Master) error {
		if _, err := m.Request(am.Request{Priority: mapPriority, Resource: records.NewResource(jobMemory, 1), Count: jobTasks}); err != nil {
			return err
		}
		m.SetProgress(0.05)
		done := 0
		for e := range m.Events() {
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					m.Start(c.ID, am.Launch{Command: []string{wait}})
				}
			case am.ContainerCompleted:
				if done++; done == jobTasks {
					job := strings.Replace(id.Attempt.App.String(), "application", "job", 1)
					m.SetProgress(1)
					m.SetResult(pb.FinalApplicationStatus_APP_SUCCEEDED, "", url+"/jobhistory/job/"+job)
					return nil
				}
			}
		}
		return errors.New("the conversation with the ResourceManager ended")
	})
}

func jobPages(id records.ApplicationID) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ws/v1/mapreduce/info", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", yarnrest.JSONType)
		fmt.Fprintf(w, `{"info":{"appId":"%v"}}`, id)
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/mapreduce", http.StatusFound) })
	mux.HandleFunc("/mapreduce", func(w http.ResponseWriter, _ *http.Request) {
		yarnrest.Page(w, http.StatusOK, "MapReduce Application "+id.String(), "")
	})
	return mux
}
