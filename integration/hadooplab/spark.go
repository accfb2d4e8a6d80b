package hadooplab

import (
	"context"
	"fmt"
	"path/filepath"
)

// SparkVersion is the version of Spark that jobs run with unless they are about others.
const SparkVersion = "4.0.1"

// Spark returns the folder in which a version of Spark is installed ($SPARK_HOME); the first time it is fetched from PyPI
// (400 MB).
func Spark(ctx context.Context, version string) (string, error) {
	dir, err := PyPI(ctx, "spark-"+version, "pyspark=="+version)
	if err != nil {
		return "", fmt.Errorf("fetching Spark: %w", err)
	}
	return filepath.Join(dir, "pyspark"), nil
}
