// Configures a Hokuyo scanner with MRPT's driver over TCP, as rawlog-grabber does, and prints its scans.
//
//   hokuyo_mrpt ADDRESS PORT INTENSITIES(0|1) SCANS
//
// A line a scan: `scan`, first angle and aperture in radians, counter-clockwise, then the ranges in metres; 0 where
// the driver finds none. Exit code 1 when the driver gives up.

#include <mrpt/hwdrivers/CHokuyoURG.h>
#include <mrpt/obs/CObservation2DRangeScan.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

int main(int argc, char** argv)
{
    if (argc != 5) {
        std::fprintf(stderr, "four arguments, see the source\n");
        return 2;
    }
    const int wanted = std::atoi(argv[4]);
    try {
        mrpt::hwdrivers::CHokuyoURG laser;
        laser.setVerbosityLevel(mrpt::system::LVL_ERROR);
        laser.setIPandPort(argv[1], static_cast<unsigned>(std::atoi(argv[2])));
        if (std::atoi(argv[3]) != 0) laser.setIntensityMode(true);
        // Public in the base class only.
        static_cast<mrpt::hwdrivers::CGenericSensor&>(laser).initialize();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (int scans = 0; scans < wanted;) {
            if (std::chrono::steady_clock::now() > end) {
                std::fprintf(stderr, "%d scans in a minute\n", scans);
                return 1;
            }
            bool there_is_one = false, failed = false;
            mrpt::obs::CObservation2DRangeScan scan;
            laser.doProcessSimple(there_is_one, scan, failed);
            if (failed) {
                std::fprintf(stderr, "the driver gave up after %d scans\n", scans);
                return 1;
            }
            if (!there_is_one) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            ++scans;
            const double first = (scan.rightToLeft ? -0.5 : 0.5) * scan.aperture;
            std::printf("scan %.9f %.9f", first, scan.rightToLeft ? scan.aperture : -scan.aperture);
            for (size_t i = 0; i < scan.getScanSize(); ++i)
                std::printf(" %.4f", scan.getScanRangeValidity(i) ? scan.getScanRange(i) : 0.0F);
            std::printf("\n");
        }
        laser.turnOff();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
