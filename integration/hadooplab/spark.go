package hadooplab

import (
	"context"
	"fmt"
	"path/filepath"
)

// SparkVersion is the version that Spark returns.
const SparkVersion = "4.0.1"

// Spark returns the folder in which Spark is installed ($SPARK_HOME); the first time it is fetched from PyPI (400 MB).
func Spark(ctx context.Context) (string, error) {
	dir, err := PyPI(ctx, "spark-"+SparkVersion, "pyspark=="+SparkVersion)
	if err != nil {
		return "", fmt.Errorf("fetching Spark: %w", err)
	}
	return filepath.Join(dir, "pyspark"), nil
}
