package conf

import "slices"

const (
	auxServices = "yarn.nodemanager.aux-services"
	// MapReduceShuffle is the auxiliary service that Heddle has itself, under the name that MapReduce uses. Others are Java classes (conf/javaservices).
	MapReduceShuffle = "mapreduce_shuffle"
	mapReduceClass   = "org.apache.hadoop.mapred.ShuffleHandler"
	sparkShuffle     = "spark_shuffle"
)

// OwnAuxService reports whether a NodeManager runs an auxiliary service itself, without Java.
func OwnAuxService(c *Config, name string) bool {
	class := c.Text(auxServices + "." + name + ".class")
	return class == mapReduceClass || class == "" && name == MapReduceShuffle
}

// LacksAuxService returns what to set if a container needs an auxiliary service that isn't configured; "" if Heddle knows no more than that.
func (c *Config) LacksAuxService(name string) string {
	if name != sparkShuffle || slices.Contains(c.Strings(auxServices), name) {
		return ""
	}
	return "Spark's shuffle service isn't among " + auxServices + " of this node. Add it (docs/java.md), or set " +
		"spark.shuffle.service.enabled=false and, with dynamic allocation, spark.dynamicAllocation.shuffleTracking.enabled=true"
}
