package conf

import (
	"fmt"
	"slices"
)

const (
	auxServices = "yarn.nodemanager.aux-services"
	// MapReduceShuffle is Heddle's only auxiliary service, under the name that MapReduce uses.
	MapReduceShuffle = "mapreduce_shuffle"
	mapReduceClass   = "org.apache.hadoop.mapred.ShuffleHandler"
	// sparkShuffle is Spark's external shuffle service, which keeps shuffled data after executors have ended. It runs
	// inside a Java NodeManager. It reads a format of Spark's own that executors of its own version write.
	sparkShuffle = "spark_shuffle"
	sparkClass   = "org.apache.spark.network.yarn.YarnShuffleService"
)

// LacksAuxService returns why a NodeManager lacks an auxiliary service that is configured or that Spark asks for, and
// what to set instead. It returns "" for services that the NodeManager has, and for unknown ones.
func (c *Config) LacksAuxService(name string) string {
	class := c.Text(auxServices + "." + name + ".class")
	switch {
	case class == mapReduceClass || class == "" && name == MapReduceShuffle:
		return ""
	case class == sparkClass || class == "" && name == sparkShuffle:
		return "Spark's shuffle service needs a Java NodeManager. Spark's executors serve their shuffles themselves: set " +
			"spark.shuffle.service.enabled=false and, with dynamic allocation, spark.dynamicAllocation.shuffleTracking.enabled=true"
	}
	if class == "" && !slices.Contains(c.Strings(auxServices), name) {
		return ""
	}
	return fmt.Sprintf("its class is %q, but Heddle has only %s", class, mapReduceClass)
}

// auxServices warns of configured services that a NodeManager lacks.
func (v *validation) auxServices() {
	for _, name := range v.c.Strings(auxServices) {
		if why := v.c.LacksAuxService(name); why != "" {
			key := auxServices
			if _, ok := v.c.Where(key + "." + name + ".class"); ok {
				key += "." + name + ".class"
			}
			v.problem(Warning, key, "auxiliary service "+name+" is left out: "+why, mapReduceClass)
		}
	}
}
