package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

type clusterInfo struct {
	HAState string `json:"haState"`
}

type clusterMetrics struct {
	ActiveNodes int `json:"activeNodes"`
}

type app struct {
	ID         string `json:"id"`
	State      string `json:"state"`
	Containers int    `json:"runningContainers"`
}

// get reads a resource of a member's REST API.
func get[T any](ctx context.Context, c *cluster, id, path, field string) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.web(id)+path, nil)
	if err != nil {
		return out, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return out, fmt.Errorf("%s: %s", req.URL, resp.Status)
	}
	var body map[string]json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return out, fmt.Errorf("%s: %w", req.URL, err)
	}
	return out, json.Unmarshal(body[field], &out)
}

// leader returns the id of the leading ResourceManager. It skips members that are down or follow.
func (c *cluster) leader(ctx context.Context) (string, error) {
	var leader string
	err := c.until(ctx, "a ResourceManager leads", func() bool {
		leader = c.leads(ctx)
		return leader != ""
	})
	return leader, err
}

func (c *cluster) leads(ctx context.Context) string {
	for _, id := range c.ResourceManagers {
		if info, err := get[clusterInfo](ctx, c, id, "/ws/v1/cluster/info", "clusterInfo"); err == nil && info.HAState == "ACTIVE" {
			return id
		}
	}
	return ""
}

func (c *cluster) metrics(ctx context.Context) (m clusterMetrics, err error) {
	id := c.leads(ctx)
	if id == "" {
		return m, fmt.Errorf("no ResourceManager leads")
	}
	return get[clusterMetrics](ctx, c, id, "/ws/v1/cluster/metrics", "clusterMetrics")
}

// job returns the running application as the leader sees it.
func (c *cluster) job(ctx context.Context) (app, error) {
	id, err := c.leader(ctx)
	if err != nil {
		return app{}, err
	}
	apps, err := get[struct {
		App []app `json:"app"`
	}](ctx, c, id, "/ws/v1/cluster/apps", "apps")
	if err != nil {
		return app{}, err
	}
	if len(apps.App) == 0 {
		return app{}, fmt.Errorf("%s has no application", id)
	}
	return apps.App[0], nil
}
