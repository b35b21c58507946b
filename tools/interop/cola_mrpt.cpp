// Configures a SICK LMS1xx with MRPT's driver and prints the scans it asks for.
//
//   cola_mrpt ADDRESS PORT SCANS
//
// A line a scan: the ranges in metres, from the first direction on; 0 where there is none. Exit code
// 1 when the driver gives up, or has asked in vain too often: it waits only 40 ms for an answer, which
// a busy machine can take from any scanner.

#include <mrpt/hwdrivers/CLMS100eth.h>
#include <mrpt/obs/CObservation2DRangeScan.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

namespace
{
constexpr int kMostUnanswered = 20;

void pause_ms(int milliseconds)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}
}  // namespace

int main(int argc, char** argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "three arguments, see the source\n");
        return 2;
    }
    const int wanted = std::atoi(argv[3]);
    try {
        mrpt::hwdrivers::CLMS100Eth laser(argv[1], std::atoi(argv[2]));
        laser.setVerbosityLevel(mrpt::system::LVL_ERROR);
        laser.initialize();
        for (int scans = 0, unanswered = 0; scans < wanted;) {
            bool there_is_one = false, failed = false;
            mrpt::obs::CObservation2DRangeScan scan;
            laser.doProcessSimple(there_is_one, scan, failed);
            if (failed || !there_is_one || scan.getScanSize() == 0) {
                if (++unanswered > kMostUnanswered) {
                    std::fprintf(stderr, "asked in vain %d times, %d scans\n", unanswered, scans);
                    return 1;
                }
                pause_ms(200);
                continue;
            }
            std::printf("scan");
            for (size_t i = 0; i < scan.getScanSize(); ++i)
                std::printf(" %.4f", scan.getScanRange(i));
            std::printf("\n");
            ++scans;
            // A scan of 25 Hz later.
            pause_ms(40);
        }
        laser.turnOff();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
